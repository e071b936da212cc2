// Row block times slice of a panel for f32, f16, bf16 and bf16_dot weights, over a sixteen-lane
// type S.
#pragma once

#include <type_traits>

#include "exec/cpu/kernel/cpu/linear_layout.h"

namespace pando::kernel {

// One row block, one slice of one panel.
struct BlockArgs {
  const std::byte* w;   // [n_units, n_strips] units of weights
  const std::byte* x;   // the row block's part of the slice; linear_layout.h
  const float* scales;  // int8: [n_strips, 16] of the weights
  float* sums;          // [rows, 48] accumulators, between slices; for int8 the bits of int32
  float* y;             // [rows, n_columns], rows y_stride apart
  int64_t y_stride;
  int n_columns;
  int n_strips;
  int n_units;
  int n_groups;  // q8_0, q4_0, q4_K: groups of 32 left in the row, this slice and those after it
  bool first_slice;       // of an output: its sums begin at zero
  bool last_slice;        // its sums go to y
  const std::byte* next;  // weights to prefetch
  const std::byte* next_end;
};

// Fetches what comes next, evenly: strips of a panel that are computed one after another share it,
// and so do the steps of each. In a burst it would wait for memory, and memory for it afterwards
// (AVX2, Zen 4, one thread, two rows of q8_0: 20 against 12 GB/s).
class Prefetch {
 public:
  // Fetches ahead for strips [strip, strip + n_strips).
  [[gnu::always_inline]] Prefetch(const BlockArgs& args, int strip, int n_strips, int n_steps) {
    const int64_t lines = (args.next_end - args.next) / kLine;
    next_ = args.next + lines * strip / args.n_strips * kLine;
    end_ = args.next + lines * (strip + n_strips) / args.n_strips * kLine;
    each_ = ((end_ - next_) / kLine + n_steps - 1) / n_steps;
  }
  [[gnu::always_inline]] void step() {
    for (int64_t i = 0; i < each_ && next_ < end_; ++i, next_ += kLine)
      __builtin_prefetch(next_, 0, 2);
  }

  static constexpr int kLine = 64;  // bytes

 private:
  const std::byte* next_;
  const std::byte* end_;
  int64_t each_;
};

// Fetches the lines of y that a row block will store to, one a strip, as rows that are whole lines
// have it: they lie far apart, and none is in a near cache. With rows that begin at a line (Zen 4,
// two threads, 512 rows, 6144 outputs): q8_0 672 instead of 644 GOP/s, int8 805 instead of 755.
template <int kRows, int kStrips>
[[gnu::always_inline]] static inline void fetch_outputs(const BlockArgs& args, int strip) {
  if (!args.last_slice) return;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
    for (int s = 0; s < kStrips; ++s)
      __builtin_prefetch(args.y + r * args.y_stride + (strip + s) * kStripLen, 0, 3);
}

// acc[kRows][kStrips] of f32 lanes: in registers, if every loop over it is unrolled (GCC 12) and
// every function that takes it is inlined early (clang 14: 39 against 85% of the peak).
template <class S, int kRows, int kStrips>
struct Accumulators {
  using F = typename S::F;
  F acc[kRows][kStrips];

  [[gnu::always_inline]] void load(const BlockArgs& args, int strip) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s)
        acc[r][s] = args.first_slice ? S::zero()
                                     : S::load(args.sums + r * kPanelLen + (strip + s) * kStripLen);
  }

  [[gnu::always_inline]] void store(const BlockArgs& args, int strip) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) {
        const int column = (strip + s) * kStripLen;
        if (args.last_slice)
          S::store_first(args.y + r * args.y_stride + column, acc[r][s], args.n_columns - column);
        else
          S::store(args.sums + r * kPanelLen + column, acc[r][s]);
      }
  }
};

template <class S, DType kElement>
struct FloatBlock {
  using F = typename S::F;
  static constexpr DType kType = kElement;
  static constexpr bool kDots = kType == DType::kBF16Dot;
  using X = std::conditional_t<kDots, uint32_t, float>;  // activations: two of bf16, or one
  // Accumulators, two inputs' weights and an activation fill the registers: 8 rows of three strips;
  // with sixteen registers 5 rows of one strip, or 4 where widening needs registers too.
  static constexpr bool kManyRegisters = S::kRegisters >= 32;
  static constexpr int kMaxRows = kManyRegisters ? 8 : kType == DType::kF32 ? 5 : 4;
  static constexpr int kMaxWideRows = kManyRegisters ? 8 : 2;
  // With fewer rows memory is the limit, and AMD's own prefetching does better (Zen 4, one
  // thread, bf16: one row 31 against 23 GB/s, four rows 23 against 27); not strip by strip.
  static constexpr int kMinFetchRows = kManyRegisters && kType == DType::kF32 ? 6 : 3;

  // Strips [strip, strip + kStrips) of the panel.
  template <int kRows, int kStrips>
  static void run(const BlockArgs& args, int strip) {
    fetch_outputs<kRows, kStrips>(args, strip);
    Accumulators<S, kRows, kStrips> sums;
    sums.load(args, strip);
    const int step_bytes = args.n_strips * unit_bytes(kType);
    const std::byte* w = args.w + strip * unit_bytes(kType);
    const X* x = reinterpret_cast<const X*>(args.x);
    Prefetch prefetch(args, strip, kStrips, (args.n_units + kStep - 1) / kStep);
    for (int unit = 0; unit < args.n_units;) {
      prefetch.step();
      const int stop = unit + kStep < args.n_units ? unit + kStep : args.n_units;
      for (; unit < stop; ++unit, x += kRows * kXStep, w += step_bytes) add_unit(sums, x, w);
    }
    sums.store(args, strip);
  }

  // bf16_dot. x: [len] f32; pairs: `stride` apart.
  static void narrow_row(const float* x, int len, uint32_t* pairs, int stride) {
    const F least = S::set1(kLeastDot), zero = S::zero();
    for (int i = 0; i < len; i += 16) {
      const F v = S::load_first(x + i, len - i);
      uint16_t bits[16];
      S::store_bf16(bits, S::select_less(S::abs(v), least, zero, v));
      const int n = len - i < 16 ? len - i : 16;
      for (int j = 0; j < n; j += 2, pairs += stride) __builtin_memcpy(pairs, bits + j, 4);
    }
  }

 private:
  static constexpr int kStep = 4;               // units between prefetches
  static constexpr int kXStep = kDots ? 1 : 2;  // of x for a unit of a row

  // Inputs in order; the second of a pair before the first in bf16_dot, as its instruction has it.
  template <int kRows, int kStrips>
  [[gnu::always_inline]] static void add_unit(Accumulators<S, kRows, kStrips>& sums, const X* x,
                                              const std::byte* w) {
    if constexpr (kDots && S::kDotsBf16) {
      typename S::Pairs pairs[kStrips];
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) pairs[s] = S::load_pairs(w + s * unit_bytes(kType));
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const typename S::Pairs v = S::set1_pair(x[r]);
#pragma GCC unroll 3
        for (int s = 0; s < kStrips; ++s) sums.acc[r][s] = S::dot_bf16(sums.acc[r][s], v, pairs[s]);
      }
    } else {
      F even[kStrips], odd[kStrips];
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) load_pair(w + s * unit_bytes(kType), even[s], odd[s]);
      if constexpr (kDots) {
        add_products<1>(sums, x, odd);
        add_products<0>(sums, x, even);
      } else {
        add_products<0>(sums, x, even);
        add_products<1>(sums, x, odd);
      }
    }
  }

  // Input 0 or 1 of a unit, of row r of kRows.
  template <int kInput, int kRows>
  static float input(const X* x, int r) {
    if constexpr (kDots)
      return __builtin_bit_cast(float, kInput == 0 ? x[r] << 16 : x[r] & 0xffff'0000u);
    else
      return x[kInput * kRows + r];
  }

  template <int kInput, int kRows, int kStrips>
  [[gnu::always_inline]] static void add_products(Accumulators<S, kRows, kStrips>& sums, const X* x,
                                                  const F (&w)[kStrips]) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F v = S::set1(input<kInput, kRows>(x, r));
#pragma GCC unroll 3
      for (int s = 0; s < kStrips; ++s) sums.acc[r][s] = S::fma(v, w[s], sums.acc[r][s]);
    }
  }

  static void load_pair(const std::byte* unit, F& even, F& odd) {
    if constexpr (kType == DType::kF32) {
      even = S::load(reinterpret_cast<const float*>(unit));
      odd = S::load(reinterpret_cast<const float*>(unit) + kStripLen);
    } else if constexpr (kType == DType::kF16) {
      even = S::load_f16(reinterpret_cast<const uint16_t*>(unit));
      odd = S::load_f16(reinterpret_cast<const uint16_t*>(unit) + kStripLen);
    } else {
      S::load_bf16_pair(reinterpret_cast<const uint16_t*>(unit), even, odd);
    }
  }
};

}  // namespace pando::kernel
