// Row block times slice of a panel for q8_0, q4_0 and q4_K weights, over a sixteen-lane type S.
#pragma once

#include <type_traits>

#include "kernel/cpu/linear_block_float.h"
#include "kernel/cpu/linear_layout.h"

namespace pando::kernel {

// kWidened: of halves, after widen_slice.
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
  // thread, four rows: 200 against 150 us for 3072 x 1024 from memory).
  static constexpr int kMinFetchRows = kType == DType::kQ4_K ? 2 : kMaxWideRows + 1;

  // A slice of a panel of halves with integers as in q8_0 and scales as they are: worth it where
  // many row blocks read it and a dot product of bytes costs no more than one of halves.
  static void widen_slice(const std::byte* from, int n_units, int n_strips, std::byte* to) {
    const int half = kQuads / 2 * n_strips * kStripQuad;  // bytes of half a group, widened
    const int head_bytes = n_strips * unit_head_bytes(kType);
    const uint8_t* in = reinterpret_cast<const uint8_t*>(from);
    uint8_t* out = reinterpret_cast<uint8_t*>(to);
    const auto copy = [&](int n_bytes) {
      __builtin_memcpy(out, in, n_bytes);
      in += n_bytes, out += n_bytes;
    };
    for (int pair = 0; pair < n_units * unit_pairs(kType); ++pair) {
      if (pair % unit_pairs(kType) == 0) copy(head_bytes);
      for (int group = 0; group < 2; ++group, in += half, out += 2 * half)
        for (int i = 0; i < half; i += kStripQuad)
          S::template widen_halves<kHalfOffset>(in + i, out + i, out + half + i);
      copy(2 * n_strips * kGroupScaleBytes);
    }
  }

  // Scales and minima of one group, from one strip on.
  struct Scales {
    const std::byte* of_unit = nullptr;
    const std::byte* of_group = nullptr;

    F scale(int s) const {
      const std::byte* own = of_group + s * kGroupScaleBytes;
      return kMinima ? product(of_unit + s * kHeadBytes, own) : load_f16(own);
    }
    F negative_minimum(int s) const {
      return product(of_unit + s * kHeadBytes + kHeadBytes / 2,
                     of_group + s * kGroupScaleBytes + kGroupScaleBytes / 2);
    }

   private:
    static F load_f16(const std::byte* p) {
      return S::load_f16(reinterpret_cast<const uint16_t*>(p));
    }
    static F product(const std::byte* scales, const std::byte* factors) {
      return S::mul(load_f16(scales), S::load_u8(reinterpret_cast<const uint8_t*>(factors)));
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
      scales.of_group = pair + args.n_strips * kPairIntegers + (i + strip) * kGroupScaleBytes;
      add_group(sums, x,
                reinterpret_cast<const uint8_t*>(pair) + (i * kWeightQuads + strip) * kStripQuad,
                args.n_strips * kStripQuad, scales);
      if (group % 2 == 1) pair += args.n_strips * (kPairIntegers + 2 * kGroupScaleBytes);
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
      out->scale = amax / 127.0f;
      out->bias = -128 * static_cast<int32_t>(sum);
      out->sum = out->scale * sum;
    }
  }

 private:
  static constexpr int kUnitGroups = unit_groups(kType);
  static constexpr bool kHalves = is_halves(kType) && !kWidened;
  using Dots = std::conditional_t<kHalves, typename S::NibbleSums, I>;
  static constexpr int kWeightQuads = kHalves ? kQuads / 2 : kQuads;  // of a group, stored
  static constexpr int kPairIntegers = 2 * kWeightQuads * kStripQuad;
  static constexpr int kHeadBytes = unit_head_bytes(kType);
  // What is added to integers as they are stored in halves.
  static constexpr int kHalfOffset = kType == DType::kQ4_0 ? 8 : 0;
  static constexpr int kOffset = kHalves ? kHalfOffset : 128;
  static constexpr bool kMinima = kType == DType::kQ4_K;

  // acc = fma(float(sum of 32 products), s * d, acc) for every row and strip, and with minima
  // acc = fma(sum of activations, -minimum, acc).
  // w: [kWeightQuads][kStrips][16][4], quads `stride` bytes apart
  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_group(Accumulators<S, kRows, kStrips>& sums,
                                               const QuantizedGroup* x, const uint8_t* w,
                                               int64_t stride, const Scales& scales) {
    Dots dots[kRows][kStrips];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) dots[r][s] = first_dot(x[r]);
#pragma GCC unroll 8
    for (int quad = 0; quad < kWeightQuads; ++quad, w += stride) {
      if constexpr (kHalves) {
        typename S::Nibbles q[kStrips];
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) q[s] = S::load_low(w + s * kStripQuad);
        add_quad(dots, x, 4 * quad, q);
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) q[s] = S::load_high(w + s * kStripQuad);
        add_quad(dots, x, kGroupLen / 2 + 4 * quad, q);
      } else {
        typename S::Weights q[kStrips];
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) q[s] = S::load_weights(w + s * kStripQuad);
        add_quad(dots, x, 4 * quad, q);
      }
    }
    F factors[kStrips];
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s) factors[s] = scales.scale(s);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F scale = S::set1(x[r].scale);
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        sums.acc[r][s] = S::fma(S::to_float(finished(dots[r][s], x[r])), S::mul(scale, factors[s]),
                                sums.acc[r][s]);
    }
    if constexpr (kMinima) {
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) factors[s] = scales.negative_minimum(s);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const F sum = S::set1(x[r].sum);
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) sums.acc[r][s] = S::fma(sum, factors[s], sums.acc[r][s]);
      }
    }
  }

  // -kOffset * the sum of the activations.
  static int32_t bias(const QuantizedGroup& x) {
    if constexpr (kOffset == 0)
      return 0;
    else
      return x.bias / (128 / kOffset);
  }

  static Dots first_dot(const QuantizedGroup& x) {
    if constexpr (kHalves)
      return S::first_nibbles(bias(x));
    else
      return S::first_dot(bias(x));
  }
  static I finished(const Dots& dots, const QuantizedGroup& x) {
    if constexpr (kHalves)
      return S::finish_nibbles(dots, bias(x));
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
