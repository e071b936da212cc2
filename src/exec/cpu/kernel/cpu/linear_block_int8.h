// Row block times slice of a panel for int8 weights, over a sixteen-lane type S: integer sums over
// all inputs, kept in memory between slices.
#pragma once

#include "exec/cpu/kernel/cpu/linear_block_float.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/cpu/row_pairs.h"

namespace pando::kernel {

template <class S>
struct Int8Block {
  using F = typename S::F;
  using I = typename S::I;
  static constexpr DType kType = DType::kI8;
  // Eight rows would fit the registers, but GCC 12 spills (Zen 4, 48 rows: 73 against 94% of peak).
  // Without vpdpbusd weights and products take more registers. With it and sixteen, six rows take
  // 8% less processor time than three for loading a model and reading 510 tokens (Zen 5, one
  // thread).
  static constexpr int kMaxRows = S::kPairsRows ? 4 : S::kDotsBytes ? 6 : 3;
  static constexpr int kMaxWideRows = S::kRegisters >= 32 ? 6 : 1;
  static constexpr int kMinFetchRows = kMaxWideRows + 1;

  // Strips [strip, strip + kStrips) of the panel.
  template <int kRows, int kStrips>
  static void run(const BlockArgs& args, int strip) {
    const QuantizedRow* rows = reinterpret_cast<const QuantizedRow*>(args.x);
    const int8_t* x = reinterpret_cast<const int8_t*>(rows + kRows);
    fetch_outputs<kRows, kStrips>(args, strip);
    I dots[kRows][kStrips];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        dots[r][s] =
            args.first_slice
                ? S::first_dot(rows[r].bias)
                : S::add_bias(S::load_sums(args.sums + r * kPanelLen + (strip + s) * kStripLen),
                              rows[r].bias);
    if constexpr (S::kPairsRows && kRows > 1)
      add_row_pairs(dots, args, strip, x);
    else
      add_quads(dots, args, strip, x);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) {
        const int column = (strip + s) * kStripLen;
        if (args.last_slice) {
          const F factor = S::mul(S::set1(rows[r].scale), S::load(args.scales + column));
          S::store_first(args.y + r * args.y_stride + column,
                         S::fma(S::to_float(dots[r][s]), factor, S::zero()),
                         args.n_columns - column);
        } else {
          S::store_sums(args.sums + r * kPanelLen + column, dots[r][s]);
        }
      }
  }

  // One row of a slice. x: [len] f32; amax: the largest magnitude of the whole row; quads: four
  // integers each, `stride` bytes apart, zero behind the end.
  static void quantize_row(const float* x, int len, float amax, QuantizedRow& row, int8_t* quads,
                           int stride) {
    if (amax < 0x1p-100f) amax = 0.0f;  // 127 / amax must be finite
    const F factor = S::set1(amax == 0.0f ? 0.0f : 127.0f / amax);
    const F most = S::set1(127.0f), least = S::set1(-127.0f);
    F sum = S::zero();
    const int n_inputs = unit_count(kType, len) * unit_len(kType);
    for (int i = 0; i < n_inputs; i += 16) {
      F q = S::round(S::mul(S::load_first(x + i, len - i), factor));
      q = S::max(S::min(q, most), least);  // NaN: most
      sum = S::add(sum, q);
      alignas(16) int8_t bytes[16];
      S::store_s8(bytes, q);
      for (int j = 0; j < 16; j += 4, quads += stride) __builtin_memcpy(quads, bytes + j, 4);
    }
    row.scale = amax / 127.0f;
    row.bias = -128 * static_cast<int32_t>(S::reduce_add(sum));
  }

 private:
  static constexpr int kStep = 4;  // quads between prefetches

  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_quads(I (&dots)[kRows][kStrips], const BlockArgs& args,
                                               int strip, const int8_t* x) {
    const uint8_t* w = reinterpret_cast<const uint8_t*>(args.w) + strip * kStripQuad;
    const int n_steps = args.n_units * (2 * kQuads / kStep);
    Prefetch prefetch(args, strip, kStrips, n_steps);
    for (int step = 0; step < n_steps; ++step) {
      prefetch.step();
#pragma GCC unroll 4
      for (int quad = 0; quad < kStep; ++quad, w += args.n_strips * kStripQuad, x += 4 * kRows) {
        typename S::Weights q[kStrips];
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) q[s] = S::load_weights(w + s * kStripQuad);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const typename S::Quad v = S::load_quad(x + 4 * r);
#pragma GCC unroll 3
          for (int s = 0; s < kStrips; ++s) dots[r][s] = S::dot(dots[r][s], q[s], v);
        }
      }
    }
  }

  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_row_pairs(I (&dots)[kRows][kStrips], const BlockArgs& args,
                                                   int strip, const int8_t* x) {
    RowPairs<S, kRows, kStrips> sums;
    const uint8_t* w = reinterpret_cast<const uint8_t*>(args.w) + strip * kStripQuad;
    const int stride = args.n_strips * kStripQuad;
    const int n_steps = args.n_units * (2 * kQuads / kStep);
    Prefetch prefetch(args, strip, kStrips, n_steps);
    for (int step = 0; step < n_steps; ++step) {
      prefetch.step();
#pragma GCC unroll 2
      for (int quad = 0; quad < kStep; quad += 2, w += 2 * stride, x += 8 * kRows) {
        const auto quad_i = [x](int r) { return x + 4 * r; };
        const auto quad_j = [x](int r) { return x + 4 * (kRows + r); };
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s)
          sums.add(s, S::load_weights(w + s * kStripQuad),
                   S::load_weights(w + stride + s * kStripQuad), quad_i, quad_j);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) dots[r][s] = sums.added_to(dots[r][s], r, s);
  }
};

}  // namespace pando::kernel
