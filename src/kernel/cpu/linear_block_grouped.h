// Row block times slice of a panel for q8_0 and q4_0 weights, over a sixteen-lane type S.
#pragma once

#include "kernel/cpu/linear_block_float.h"
#include "kernel/cpu/linear_layout.h"

namespace pando::kernel {

template <class S, DType kElement>
struct GroupedBlock {
  using F = typename S::F;
  using I = typename S::I;
  static constexpr DType kType = kElement;
  // Two sets of accumulators, integers of a group and f32; AVX2 keeps the latter on the stack.
  static constexpr int kMaxRows = 4;
  static constexpr int kMaxWideRows = S::kRegisters >= 32 ? 4 : 0;

  static constexpr int kMinFetchRows = kMaxWideRows + 1;  // as for FloatBlock

  // A slice of a panel of q4_0 in the layout of q8_0: worth it where many row blocks read it.
  static void widen_slice(const std::byte* from, int n_units, int n_strips, std::byte* to) {
    const int scale_bytes = 2 * n_strips * kStripLen * 2;
    const uint8_t* in = reinterpret_cast<const uint8_t*>(from);
    uint8_t* out = reinterpret_cast<uint8_t*>(to);
    const int half = kQuads / 2 * n_strips * kStripQuad;  // bytes of half a group, widened
    for (int unit = 0; unit < n_units; ++unit) {
      for (int group = 0; group < 2; ++group, in += half, out += 2 * half)
        for (int i = 0; i < half; i += kStripQuad) S::widen_halves(in + i, out + i, out + half + i);
      __builtin_memcpy(out, in, scale_bytes);
      in += scale_bytes, out += scale_bytes;
    }
  }

  // Strips [strip, strip + kStrips) of the panel.
  template <int kRows, int kStrips>
  static void run(const BlockArgs& args, int strip) {
    Accumulators<S, kRows, kStrips> sums;
    sums.load(args, strip);
    const std::byte* unit = args.w;
    const QuantizedGroup* x = reinterpret_cast<const QuantizedGroup*>(args.x);
    const int n_groups = args.n_groups < 2 * args.n_units ? args.n_groups : 2 * args.n_units;
    const std::byte* next = strip == 0 ? args.next : args.next_end;
    const int64_t lines = (args.next_end - args.next) / 64;
    const int64_t lines_per_group = (lines + n_groups - 1) / n_groups;
    for (int group = 0; group < n_groups; ++group, x += kRows) {
      for (int64_t i = 0; i < lines_per_group && next < args.next_end; ++i, next += 64)
        __builtin_prefetch(next, 0, 2);
      const std::byte* scales = unit + args.n_strips * (2 * kWeightQuads * kStripQuad);
      const int i = group % 2 * args.n_strips;
      add_group(sums, x,
                reinterpret_cast<const uint8_t*>(unit) + (i * kWeightQuads + strip) * kStripQuad,
                args.n_strips * kStripQuad,
                reinterpret_cast<const uint16_t*>(scales) + (i + strip) * kStripLen);
      if (group % 2 == 1) unit += args.n_strips * unit_bytes(kType);
    }
    sums.store(args, strip);
  }

  // x: [len] f32; out: groups `stride` apart, an even number of them, the rest zero.
  static void quantize_row(const float* x, int len, QuantizedGroup* out, int stride) {
    const int n_groups = unit_count(kType, len) * 2;
    const F most = S::set1(127.0f), least = S::set1(-127.0f);
    for (int g = 0; g < n_groups; ++g, x += kGroupLen, len -= kGroupLen, out += stride) {
      const F a = S::load_first(x, len), b = S::load_first(x + 16, len - 16);
      float amax = S::reduce_max(S::max(S::abs(a), S::abs(b)));
      if (amax < 0x1p-100f) amax = 0.0f;  // 127 / amax must be finite
      const F factor = S::set1(amax == 0.0f ? 0.0f : 127.0f / amax);
      F qa = S::round(S::mul(a, factor)), qb = S::round(S::mul(b, factor));
      qa = S::select_less(qa, most, qa, most);
      qb = S::select_less(qb, most, qb, most);
      qa = S::select_less(least, qa, qa, least);
      qb = S::select_less(least, qb, qb, least);
      S::store_s8(out->q, qa);
      S::store_s8(out->q + 16, qb);
      out->scale = amax / 127.0f;
      out->bias = -128 * static_cast<int32_t>(S::reduce_add(S::add(qa, qb)));
    }
  }

 private:
  static constexpr int kWeightQuads = kType == DType::kQ4_0 ? kQuads / 2 : kQuads;  // stored

  // acc = fma(float(sum of 32 products), s * d, acc) for every row and strip.
  // w: [kWeightQuads][kStrips][16][4], quads `stride` bytes apart; d: [kStrips][16] f16
  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_group(Accumulators<S, kRows, kStrips>& sums,
                                               const QuantizedGroup* x, const uint8_t* w,
                                               int64_t stride, const uint16_t* d) {
    I dots[kRows][kStrips];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        dots[r][s] = S::first_dot(kType == DType::kQ4_0 ? x[r].bias / 16 : x[r].bias);
#pragma GCC unroll 8
    for (int quad = 0; quad < kWeightQuads; ++quad, w += stride) {
      typename S::Weights q[kStrips];
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        q[s] = kType == DType::kQ4_0 ? S::load_low(w + s * kStripQuad)
                                     : S::load_weights(w + s * kStripQuad);
      add_quad(dots, x, 4 * quad, q);
      if constexpr (kType == DType::kQ4_0) {
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) q[s] = S::load_high(w + s * kStripQuad);
        add_quad(dots, x, kGroupLen / 2 + 4 * quad, q);
      }
    }
    F factors[kStrips];
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s) factors[s] = S::load_f16(d + s * kStripLen);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F scale = S::set1(x[r].scale);
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        sums.acc[r][s] = S::fma(S::to_float(dots[r][s]), S::mul(scale, factors[s]), sums.acc[r][s]);
    }
  }

  // Inputs [i, i + 4) of the group.
  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_quad(I (&dots)[kRows][kStrips], const QuantizedGroup* x,
                                              int i, const typename S::Weights (&q)[kStrips]) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const typename S::Quad v = S::load_quad(x[r].q + i);
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) dots[r][s] = S::dot(dots[r][s], q[s], v);
    }
  }
};

}  // namespace pando::kernel
