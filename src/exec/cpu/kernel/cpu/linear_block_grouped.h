// Row block times slice of a panel for weights in groups of 32, over a sixteen-lane type S.
#pragma once

#include <bit>
#include <type_traits>

#include "exec/cpu/kernel/cpu/linear_block_float.h"
#include "exec/cpu/kernel/cpu/linear_codes.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/cpu/row_pairs.h"

namespace pando::kernel {

// Groups of 32 allow 80% of the peak of vpdpbusd: eight of ten instructions on its two pipes are
// dot products (Zen 4: this loop from the first-level cache 77%, whole products 68 to 71%).
// kWidened: for halves after widen_slice.
template <class S, DType kElement, bool kWidened = false>
struct GroupedBlock {
  using F = typename S::F;
  using I = typename S::I;
  static constexpr DType kType = kElement;
  // Two sets of accumulators, integers of a group and f32; AVX2 keeps the latter on the stack. One
  // row in one pass lets the hardware's own prefetching go ahead, where that is left to it.
  static constexpr int kMaxRows = 4;
  static constexpr int kMaxWideRows = S::kRegisters >= 32 ? 4 : 1;

  // As for FloatBlock; q4_K, whose scales lie in three places, gains from two rows on (Zen 4, one
  // thread, four rows: 200 against 150 us for 3072 x 1024 from memory). The processor loses its way
  // in more bits than q4_0's (Zen 5, AVX-512, one thread and row: q6_K 226 against 127 us, q5_0 165
  // against 112).
  static constexpr int kMinFetchRows = kType == DType::kQ8_0 || kType == DType::kQ4_0
                                           ? kMaxWideRows + 1
                                       : kType == DType::kQ4_K || S::kRegisters < 32 ? 2
                                                                                     : 1;

  // Row blocks of a tile from which a slice is widened once instead of halves in each of them; 0:
  // never. Plain halves only need unpacking, which is cheap with thirty-two registers.
  static constexpr int kMinWidenBlocks = !is_halves(kType)               ? 0
                                         : !GroupCodes<S, kType>::kPlain ? 3
                                         : S::kRegisters >= 32           ? 9
                                                                         : 3;
  // True if a widened slice holds f32 scales and minima in place of the heads and factors that they
  // are products of (Zen 3, one thread, 256 rows, with plain halves widened: q4_K 178 instead of
  // 158 GOP/s; Zen 5, AVX-VNNI, one thread: 5% less processor time for loading a model in q4_K and
  // reading 510 tokens). Not measured with AVX-512.
  static constexpr bool kMakesFactors = S::kRegisters < 32 && unit_head_bytes(kType) > 0 &&
                                        group_form(kType).factor_len == kGroupLen;
  static constexpr int kWideScaleBytes =
      kMakesFactors ? kStripLen * 4 * (group_form(kType).minima ? 2 : 1) : group_scale_bytes(kType);
  static constexpr int kWideSliceBytes =
      slice_units(kType) * kPanelStrips *
      (unit_bytes(kType) +
       unit_pairs(kType) * (pair_integer_bytes(DType::kQ8_0) - pair_integer_bytes(kType) +
                            2 * (kWideScaleBytes - group_scale_bytes(kType))));

  // A slice of a panel with a byte for each integer, + 128 as in q8_0 or, with kCodes, as it is
  // stored. With kMakesFactors behind each pair of groups [group] [strip] f32 scales, and minima;
  // else heads and factors as they are.
  static void widen_slice(const std::byte* from, int n_units, int n_strips, std::byte* to) {
    const int stride = n_strips * kStripQuad, head_bytes = n_strips * unit_head_bytes(kType);
    const uint8_t* in = reinterpret_cast<const uint8_t*>(from);
    uint8_t* out = reinterpret_cast<uint8_t*>(to);
    const auto copy = [&](int n_bytes) {
      __builtin_memcpy(out, in, n_bytes);
      in += n_bytes, out += n_bytes;
    };
    typename GroupedBlock<S, kType, false>::Scales scales;
    for (int pair = 0; pair < n_units * unit_pairs(kType); ++pair) {
      if (pair % unit_pairs(kType) == 0) {
        scales.of_unit = reinterpret_cast<const std::byte*>(in);
        if constexpr (kMakesFactors)
          in += head_bytes;
        else
          copy(head_bytes);
      }
      for (int group = 0; group < 2; ++group) {
        for (int s = 0; s < stride; s += kStripQuad)
          Codes::each_quad(in + s, stride, [&]<int kQuad>(typename S::Nibbles w) {
            constexpr int kStored = kCodes ? 128 : Codes::kForm.offset;  // 128: unchanged
            S::template store_codes<kStored>(out + s + kQuad * stride, w);
          });
        in += group_vectors(kType) * stride, out += kQuads * stride;
      }
      if constexpr (!kMakesFactors) {
        copy(2 * n_strips * group_scale_bytes(kType));
        continue;
      }
      for (int group = 0; group < 2; ++group) {
        scales.of_group = reinterpret_cast<const std::byte*>(in);
        for (int s = 0; s < n_strips; ++s, out += kWideScaleBytes) {
          S::store(reinterpret_cast<float*>(out), scales.scale(s));
          if constexpr (kMinima)
            S::store(reinterpret_cast<float*>(out) + kStripLen, scales.minimum(s));
        }
        in += n_strips * group_scale_bytes(kType);
      }
    }
  }

  // Scales and minima of one group, from one strip on.
  struct Scales {
    const std::byte* of_unit = nullptr;
    const std::byte* of_group = nullptr;

    F scale(int s) const {
      if constexpr (kWideFactors) return load_f32(own(s));
      if constexpr (kType == DType::kMXFP4) return S::load_powers(bytes(own(s)));
      if constexpr (kHeadBytes == 0) return load_f16(own(s));
      const F d = load_f16(of_unit + s * kHeadBytes);
      if constexpr (kHalfFactors) return d;
      return S::mul(d, kMinima ? S::load_u8(bytes(own(s))) : S::load_s8(bytes(own(s))));
    }
    // Factor of the first 16 inputs or of the other 16, for types with a factor for each half
    // group.
    F half_factor(int s, int half) const { return S::load_s8(bytes(own(s)) + half * kStripLen); }
    // Negative minima, with heads; else minima.
    F minimum(int s) const {
      if constexpr (kWideFactors) return load_f32(own(s) + 4 * kStripLen);
      if constexpr (kHeadBytes == 0) return load_f16(own(s) + 2 * kStripLen);
      return S::mul(load_f16(of_unit + s * kHeadBytes + 2 * kStripLen),
                    S::load_u8(bytes(own(s)) + kStripLen));
    }

   private:
    const std::byte* own(int s) const { return of_group + s * kScaleBytes; }
    static const uint8_t* bytes(const std::byte* p) { return reinterpret_cast<const uint8_t*>(p); }
    static F load_f32(const std::byte* p) { return S::load(reinterpret_cast<const float*>(p)); }
    static F load_f16(const std::byte* p) {
      return S::load_f16(reinterpret_cast<const uint16_t*>(p));
    }
  };

  // Strips [strip, strip + kStrips) of the panel.
  template <int kRows, int kStrips>
  static void run(const BlockArgs& args, int strip) {
    fetch_outputs<kRows, kStrips>(args, strip);
    Accumulators<S, kRows, kStrips> sums;
    sums.load(args, strip);
    const std::byte* pair = args.w;
    Scales scales;
    const QuantizedGroup* x = reinterpret_cast<const QuantizedGroup*>(args.x);
    const int most_groups = kUnitGroups * args.n_units;
    const int n_groups = args.n_groups < most_groups ? args.n_groups : most_groups;
    Prefetch prefetch(args, strip, kStrips, n_groups);
    for (int group = 0; group < n_groups; ++group, x += kRows) {
      prefetch.step();
      if (kHeadBytes > 0 && group % kUnitGroups == 0) {
        scales.of_unit = pair + strip * kHeadBytes;
        pair += args.n_strips * kHeadBytes;
      }
      const int i = group % 2 * args.n_strips;
      scales.of_group = pair + args.n_strips * kPairIntegers + (i + strip) * kScaleBytes;
      add_group(sums, x,
                reinterpret_cast<const uint8_t*>(pair) + (i * kVectors + strip) * kStripQuad,
                args.n_strips * kStripQuad, scales);
      if (group % 2 == 1) pair += args.n_strips * (kPairIntegers + 2 * kScaleBytes);
    }
    sums.store(args, strip);
  }

  // x: [len] f32; out: groups `stride` apart, an even number of them, the rest zero.
  static void quantize_row(const float* x, int len, QuantizedGroup* out, int stride) {
    const int n_groups = unit_count(kType, len) * kUnitGroups;
    const F most = S::set1(127.0f), least = S::set1(-127.0f);
    for (int g = 0; g < n_groups; ++g, x += kGroupLen, len -= kGroupLen, out += stride) {
      const F a = S::load_first(x, len), b = S::load_first(x + 16, len - 16);
      float amax = S::reduce_max(S::max(S::abs(a), S::abs(b)));
      if (amax < 0x1p-100f) amax = 0.0f;  // 127 / amax must be finite
      const F factor = S::set1(amax == 0.0f ? 0.0f : 127.0f / amax);
      F qa = S::round(S::mul(a, factor)), qb = S::round(S::mul(b, factor));
      qa = S::max(S::min(qa, most), least);  // NaN: most
      qb = S::max(S::min(qb, most), least);
      S::store_s8(out->q, qa);
      S::store_s8(out->q + 16, qb);
      const float sum = S::reduce_add(S::add(qa, qb));
      const float half_sum = S::reduce_add(qa);
      out->scale = amax / 127.0f;
      out->bias = -128 * static_cast<int32_t>(sum);
      out->half_bias = -128 * static_cast<int32_t>(half_sum);
      out->sum = out->scale * sum;
    }
  }

 private:
  using Codes = GroupCodes<S, kType>;
  static constexpr int kUnitGroups = unit_groups(kType);
  static constexpr bool kPacked = is_halves(kType) && !kWidened;
  // Integers below 16, also after widen_slice: 16 bits may hold their sums.
  static constexpr bool kHalves = is_halves(kType) && Codes::kPlain && (kPacked || !S::kDotsBytes);
  // Codes of 5 and 6 bits by dot_pair.
  static constexpr bool kPairs =
      S::kPairsQuads && (Codes::kForm.code_bits == 5 || Codes::kForm.code_bits == 6);
  // True if widen_slice leaves the integers as they are stored.
  static constexpr bool kCodes = kPairs || (Codes::kPlain && !S::kDotsBytes);
  using Factors = std::conditional_t<kHalves, typename S::Nibbles, typename S::Weights>;
  using Dots = std::conditional_t<kHalves, typename S::NibbleSums, I>;
  static constexpr int kVectors = kPacked ? group_vectors(kType) : kQuads;  // of a group, stored
  static constexpr int kPairIntegers = 2 * kVectors * kStripQuad;
  static constexpr bool kWideFactors = kWidened && kMakesFactors;
  static constexpr int kHeadBytes = kWideFactors ? 0 : unit_head_bytes(kType);
  static constexpr int kScaleBytes = kWideFactors ? kWideScaleBytes : group_scale_bytes(kType);
  // Added to the integers as they are stored.
  static constexpr int kOffset = kPacked || kCodes ? Codes::kForm.offset : 128;
  static constexpr bool kMinima = Codes::kForm.minima;
  static constexpr bool kHalfFactors = Codes::kForm.factor_len < kGroupLen;

  // acc = fma(float(sum of 32 products), s * d, acc) for every row and strip, and with minima
  // acc = fma(sum of activations, minimum, acc). With factors of 16 inputs the sum is
  // fma(float(sum of the last 16), c1, float(sum of the first 16) * c0), which is exact.
  // w: [kVectors][kStrips][16][4], vectors `stride` bytes apart
  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_group(Accumulators<S, kRows, kStrips>& sums,
                                               const QuantizedGroup* x, const uint8_t* w,
                                               int64_t stride, const Scales& scales) {
    F totals[kRows][kStrips];
    if constexpr (kHalfFactors) {
      add_quads<0, kQuads / 2>(totals, x, w, stride, scales);
      add_quads<kQuads / 2, kQuads>(totals, x, w, stride, scales);
    } else {
      add_quads<0, kQuads>(totals, x, w, stride, scales);
    }
    F factors[kStrips];
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s) factors[s] = scales.scale(s);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F scale = S::set1(x[r].scale);
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        sums.acc[r][s] = S::fma(totals[r][s], S::mul(scale, factors[s]), sums.acc[r][s]);
    }
    if constexpr (kMinima) {
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) factors[s] = scales.minimum(s);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const F sum = S::set1(x[r].sum);
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) sums.acc[r][s] = S::fma(sum, factors[s], sums.acc[r][s]);
      }
    }
  }

  // Sums over quads [kFirst, kEnd), with their factors where these are a half of the group: in
  // place of totals, or of the second half added to them.
  template <int kFirst, int kEnd, int kRows, int kStrips>
  [[gnu::always_inline]] static void add_quads(F (&totals)[kRows][kStrips], const QuantizedGroup* x,
                                               const uint8_t* w, int64_t stride,
                                               const Scales& scales) {
    constexpr bool kWhole = kEnd - kFirst == kQuads;
    constexpr int kHalf = kFirst / (kQuads / 2);
    Dots dots[kRows][kStrips];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        dots[r][s] = first_dot(kWhole ? bias(x[r].bias) : half_bias(x[r], kHalf));
    if constexpr (S::kPairsRows && kRows > 1) {
      add_row_pairs<kFirst, kEnd>(dots, x, w, stride);
    } else if constexpr (kPairs && kPacked) {
      add_packed_pairs<kFirst / 2, kEnd / 2>(dots, x, w, stride);
    } else if constexpr (kPairs) {
#pragma GCC unroll 4
      for (int quad = kFirst; quad < kEnd; quad += 2)
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) {
          const uint8_t* codes = w + quad * stride + s * kStripQuad;
          add_pair(dots, x, s, S::load_codes(codes), 4 * quad, S::load_codes(codes + stride),
                   4 * quad + 4);
        }
    } else if constexpr (kPacked) {
      add_vectors<kFirst / 2, kEnd / 2>(dots, x, w, stride);
    } else {
#pragma GCC unroll 8
      for (int quad = kFirst; quad < kEnd; ++quad) {
        Factors q[kStrips];
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) {
          const uint8_t* integers = w + quad * stride + s * kStripQuad;
          if constexpr (kHalves)
            q[s] = S::load_codes(integers);
          else
            q[s] = S::load_weights(integers);
        }
        add_quad(dots, x, 4 * quad, q);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) {
        const F sum = S::to_float(finished(dots[r][s], x[r]));
        if constexpr (kWhole)
          totals[r][s] = sum;
        else if constexpr (kHalf == 0)
          totals[r][s] = S::mul(sum, scales.half_factor(s, 0));
        else
          totals[r][s] = S::fma(sum, scales.half_factor(s, 1), totals[r][s]);
      }
  }

  // Vectors [kVector, kEnd) of halves.
  template <int kVector, int kEnd, int kRows, int kStrips>
  [[gnu::always_inline]] static void add_vectors(Dots (&dots)[kRows][kStrips],
                                                 const QuantizedGroup* x, const uint8_t* w,
                                                 int64_t stride) {
    add_halves<kVector, false>(dots, x, w, stride);
    add_halves<kVector, true>(dots, x, w, stride);
    if constexpr (kVector + 1 < kEnd) add_vectors<kVector + 1, kEnd>(dots, x, w, stride);
  }
  template <int kVector, bool kHigh, int kRows, int kStrips>
  [[gnu::always_inline]] static void add_halves(Dots (&dots)[kRows][kStrips],
                                                const QuantizedGroup* x, const uint8_t* w,
                                                int64_t stride) {
    Factors q[kStrips];
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s) {
      const typename S::Nibbles own =
          Codes::template quad<kVector, kHigh>(w + s * kStripQuad, stride);
      if constexpr (kHalves)
        q[s] = own;
      else
        q[s] = S::template weights_of<kOffset>(own);
    }
    add_quad(dots, x, 4 * half_quad(kType, kVector, kHigh), q);
  }

  // Vectors [kVector, kEnd) of halves, the quads of a vector together.
  template <int kVector, int kEnd, int kRows, int kStrips>
  [[gnu::always_inline]] static void add_packed_pairs(Dots (&dots)[kRows][kStrips],
                                                      const QuantizedGroup* x, const uint8_t* w,
                                                      int64_t stride) {
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s) {
      const uint8_t* group = w + s * kStripQuad;
      add_pair(dots, x, s, Codes::template quad<kVector, false>(group, stride),
               4 * half_quad(kType, kVector, false),
               Codes::template quad<kVector, true>(group, stride),
               4 * half_quad(kType, kVector, true));
    }
    if constexpr (kVector + 1 < kEnd) add_packed_pairs<kVector + 1, kEnd>(dots, x, w, stride);
  }

  // Inputs [i, i + 4) and [j, j + 4) of the group, one strip.
  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_pair(Dots (&dots)[kRows][kStrips], const QuantizedGroup* x,
                                              int strip, typename S::Nibbles at_i, int i,
                                              typename S::Nibbles at_j, int j) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
      dots[r][strip] = S::dot_pair(dots[r][strip], at_i, S::load_quad(x[r].q + i), at_j,
                                   S::load_quad(x[r].q + j));
  }

  // Quads [kFirst, kEnd), by RowPairs.
  template <int kFirst, int kEnd, int kRows, int kStrips>
  [[gnu::always_inline]] static void add_row_pairs(Dots (&dots)[kRows][kStrips],
                                                   const QuantizedGroup* x, const uint8_t* w,
                                                   int64_t stride) {
    RowPairs<S, kRows, kStrips> sums;
    const auto quads_at = [x](int input) { return [x, input](int r) { return x[r].q + input; }; };
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s) {
      const uint8_t* group = w + s * kStripQuad;
      if constexpr (kPacked) {
        add_packed_rows<kFirst / 2, kEnd / 2>(sums, s, quads_at, group, stride);
      } else {
#pragma GCC unroll 4
        for (int quad = kFirst; quad < kEnd; quad += 2)
          sums.add(s, S::load_weights(group + quad * stride),
                   S::load_weights(group + (quad + 1) * stride), quads_at(4 * quad),
                   quads_at(4 * quad + 4));
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) dots[r][s] = sums.added_to(dots[r][s], r, s);
  }
  // Vectors [kVector, kEnd) of halves, of one strip.
  template <int kVector, int kEnd, class Sums, class QuadsAt>
  [[gnu::always_inline]] static void add_packed_rows(Sums& sums, int strip, const QuadsAt& quads_at,
                                                     const uint8_t* group, int64_t stride) {
    const auto low = Codes::template quad<kVector, false>(group, stride);
    const auto high = Codes::template quad<kVector, true>(group, stride);
    sums.add(strip, S::template weights_of<kOffset>(low), S::template weights_of<kOffset>(high),
             quads_at(4 * half_quad(kType, kVector, false)),
             quads_at(4 * half_quad(kType, kVector, true)));
    if constexpr (kVector + 1 < kEnd)
      add_packed_rows<kVector + 1, kEnd>(sums, strip, quads_at, group, stride);
  }

  // -kOffset * a sum of activations, for -128 times it. A shift, since a division needs four
  // instructions.
  static int32_t bias(int32_t bias) {
    if constexpr (kOffset == 0)
      return 0;
    else
      return bias >> (7 - std::countr_zero(static_cast<unsigned>(kOffset)));
  }
  static int32_t half_bias(const QuantizedGroup& x, int half) {
    return bias(half == 0 ? x.half_bias : x.bias - x.half_bias);
  }

  static Dots first_dot(int32_t bias) {
    if constexpr (kHalves)
      return S::first_nibbles(bias);
    else if constexpr (kPairs)
      return S::first_pair(bias);
    else
      return S::first_dot(bias);
  }
  static I finished(const Dots& dots, const QuantizedGroup& x) {
    if constexpr (kHalves)
      return S::finish_nibbles(dots, bias(x.bias));
    else
      return dots;
  }

  // Inputs [i, i + 4) of the group.
  template <int kRows, int kStrips, class Weights>
  [[gnu::always_inline]] static void add_quad(Dots (&dots)[kRows][kStrips], const QuantizedGroup* x,
                                              int i, const Weights (&q)[kStrips]) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const typename S::Quad v = S::load_quad(x[r].q + i);
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) dots[r][s] = S::dot(dots[r][s], q[s], v);
    }
  }
};

}  // namespace pando::kernel
