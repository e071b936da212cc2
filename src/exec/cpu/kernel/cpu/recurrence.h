// The recurrences of layers with a state, written once over a sixteen-lane type S (simd_*.h).
// Reference: docs/arithmetic.md, "Recurrent layers".
#pragma once

#include "exec/cpu/kernel/cpu/recurrence_args.h"
#include "exec/cpu/kernel/cpu/row_ops.h"

namespace pando::kernel {

// Lanes are columns of the state, which do not depend on each other: sums over the keys' channels
// run down the columns, one chain each. A slice stays in the first cache from row to row.
template <class S>
struct Recurrence {
  using F = typename S::F;

  // Gated delta rule (arXiv 2412.06464, equation 10), for each column j:
  //   r = S^T k, p = S^T q; delta = beta (v - alpha r); o = alpha p + (k.q) delta;
  //   S = alpha S + k delta
  // One pass over the slice takes the state from row t to t + 1 and has the sums of row t + 1.
  static void delta_net(const RecurrenceArgs& a) {
    for (int column = 0; column < kStateSlice; column += kColumns) delta_columns(a, column);
  }

  // Mamba2 (arXiv 2405.21060, section 7), for each column j:
  //   S = alpha S + B (d x); o = S^T C + D x
  static void mamba2(const RecurrenceArgs& a) {
    for (int column = 0; column < kStateSlice; column += kColumns) mamba2_columns(a, column);
  }

 private:
  // Two vectors need fourteen registers: sums, deltas, states, broadcast factors.
  static constexpr int kVectors = S::kRegisters >= 32 ? 2 : 1;
  static constexpr int kColumns = 16 * kVectors;
  static_assert(kStateSlice % kColumns == 0);

  // Products of the state with the key and the query of a row: S^T k and S^T q.
  struct Sums {
    F r[kVectors], p[kVectors];

    Sums() {
      for (int v = 0; v < kVectors; ++v) r[v] = p[v] = S::zero();
    }
    void add(int v, F k, F q, F s) {
      r[v] = S::fma(k, s, r[v]);
      p[v] = S::fma(q, s, p[v]);
    }
  };

  static void delta_columns(const RecurrenceArgs& a, int column) {
    const float* state = a.from + column;
    const F minus = S::set1(-1.0f);
    Sums sums;
    for (int i = 0; i < a.key_dim; ++i) {
      const F k = S::set1(a.k[i]), q = S::set1(a.q[i]);
      for (int v = 0; v < kVectors; ++v)
        sums.add(v, k, q, S::load(state + int64_t{i} * kStateSlice + 16 * v));
    }
    for (int row = 0; row < a.n_rows; ++row) {
      const int64_t at = row * a.factor_stride;
      const F alpha = S::set1(a.alpha[at]), beta = S::set1(a.gain[at]), dot = S::set1(a.dot[at]);
      F delta[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const int first = column + 16 * v, n = a.n_columns - first;
        const F value = S::load_first(a.v + row * a.stride + first, n);
        delta[v] = S::mul(S::fma(S::mul(minus, alpha), sums.r[v], value), beta);
        S::store_first(a.out + row * a.out_stride + first,
                       S::fma(dot, delta[v], S::mul(alpha, sums.p[v])), n);
      }
      if (row + 2 < a.n_rows) fetch_row(a, row + 2, column);
      if (row + 1 < a.n_rows)
        sums = update<true>(a, row, column, state, delta);
      else if (a.keeps_last)
        update<false>(a, row, column, state, delta);
      state = a.to + column;
    }
  }

  // Rows lie pages apart, where the processor does not fetch ahead by itself, and often by such a
  // power of two that few of them stay in a cache.
  static void fetch_row(const RecurrenceArgs& a, int row, int column) {
    const int64_t at = row * a.stride;
    for (int i = 0; i < a.key_dim; i += 16) {
      __builtin_prefetch(a.k + at + i);
      __builtin_prefetch(a.q + at + i);
    }
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(a.v + at + column + 16 * v);
  }

  // a.to = alpha from + k delta, behind row `row`. With kSums returns the sums of the next row;
  // otherwise a.next_from comes to the second cache, for the first one is full.
  template <bool kSums>
  static Sums update(const RecurrenceArgs& a, int row, int column, const float* from,
                     const F* delta) {
    const int key_dim = a.key_dim;
    const float *const k = a.k + row * a.stride, *const next_k = k + a.stride,
                       *const next_q = a.q + (row + 1) * a.stride;
    const float* const fetched = a.next_from != nullptr ? a.next_from + column : from;
    float* const to = a.to + column;
    const F alpha = S::set1(a.alpha[row * a.factor_stride]);
    F d[kVectors];
    for (int v = 0; v < kVectors; ++v) d[v] = delta[v];
    Sums sums;
    for (int i = 0; i < key_dim; ++i) {
      // Read before anything is written: the compiler takes it that a state may be a key.
      const F own_k = S::set1(k[i]);
      const F k_of_next = S::set1(kSums ? next_k[i] : 0.0f);
      const F q_of_next = S::set1(kSums ? next_q[i] : 0.0f);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = int64_t{i} * kStateSlice + 16 * v;
        const F s = S::fma(own_k, d[v], S::mul(alpha, S::load(from + at)));
        S::store(to + at, s);
        if constexpr (kSums)
          sums.add(v, k_of_next, q_of_next, s);
        else
          __builtin_prefetch(fetched + at, 0, 2);
      }
    }
    return sums;
  }

  static void mamba2_columns(const RecurrenceArgs& a, int column) {
    const float* state = a.from + column;
    float* const to = a.to + column;
    const F skip = S::set1(a.skip);
    for (int row = 0; row < a.n_rows; ++row) {
      const int64_t at = row * a.factor_stride;
      const F alpha = S::set1(a.alpha[at]), step = S::set1(a.gain[at]);
      F x[kVectors], o[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const int first = column + 16 * v;
        x[v] = S::load_first(a.v + row * a.stride + first, a.n_columns - first);
        o[v] = S::zero();
      }
      F scaled[kVectors];
      for (int v = 0; v < kVectors; ++v) scaled[v] = S::mul(step, x[v]);
      const float *const b = a.k + row * a.stride, *const c = a.q + row * a.stride;
      const bool keeps = row + 1 < a.n_rows || a.keeps_last;
      if (row + 1 < a.n_rows) fetch_row(a, row + 1, column);
      for (int i = 0; i < a.key_dim; ++i) {
        const F own_b = S::set1(b[i]), own_c = S::set1(c[i]);
        for (int v = 0; v < kVectors; ++v) {
          const int64_t cell = int64_t{i} * kStateSlice + 16 * v;
          const F s = S::fma(own_b, scaled[v], S::mul(alpha, S::load(state + cell)));
          if (keeps) S::store(to + cell, s);
          o[v] = S::fma(own_c, s, o[v]);
        }
      }
      for (int v = 0; v < kVectors; ++v) {
        const int first = column + 16 * v;
        S::store_first(a.out + row * a.out_stride + first, S::fma(skip, x[v], o[v]),
                       a.n_columns - first);
      }
      state = to;
    }
  }
};

// The convolution in front of a recurrence.
template <class S>
struct Convolution {
  using F = typename S::F;

  static void convolve(const ConvolveArgs& a) {
    for (int row = 0; row < a.n_rows; ++row) {
      float* const out = a.out + row * a.out_stride;
      for (int i = 0; i < a.n; i += 16) {
        const int n = a.n - i;
        F sum = a.bias != nullptr ? S::load_first(a.bias + i, n) : S::zero();
        for (int tap = 0; tap < a.taps; ++tap) {
          const int from = row - a.taps + 1 + tap;
          const float* u = from < 0 ? a.history + (from + a.taps - 1) * a.history_stride
                                    : a.u + from * a.u_stride;
          sum = S::fma(S::load_first(a.w + tap * a.w_stride + i, n), S::load_first(u + i, n), sum);
        }
        S::store_first(out + i, a.with_silu ? RowOps<S>::silu(sum) : sum, n);
      }
    }
  }
};

}  // namespace pando::kernel
