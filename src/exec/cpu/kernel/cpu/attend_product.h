// The inner loop of attention: a few query rows times a strip of a tile of keys or values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/cpu/kernel/cpu/attend_blocks.h"

namespace pando::kernel {

struct SimdAvx512;

// Block sizes that keep all accumulators in registers; they change speed, never bits.
template <class S>
struct ProductShape {  // sixteen registers of eight lanes
  static constexpr int max_vectors(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
};
template <>
struct ProductShape<SimdAvx512> {  // thirty-two registers of sixteen lanes
  static constexpr int max_vectors(int) { return 4; }
};

template <class S>
struct TileProduct {
  using F = typename S::F;

  struct F32 {
    using Element = float;
    static F load(const float* p) { return S::load(p); }
  };
  struct F16 {
    using Element = uint16_t;
    static F load(const uint16_t* p) { return S::load_f16(p); }
  };
  struct BF16 {
    using Element = uint16_t;
    static F load(const uint16_t* p) { return S::load_bf16(p); }
  };

  using Ahead = FetchAhead<S>;

  enum class Start { kZero, kKeep, kScale };  // c starts at 0, as it is, multiplied by its factor

  template <class T>
  struct Operands {
    const float* a;  // [rows, n_k]
    int64_t a_stride;
    const typename T::Element* b[4];  // per vector of sixteen columns: [n_k, 16]
    int64_t b_stride;
    float* c;  // [rows, 16 * vectors]
    int64_t c_stride;
    const float* factor;  // [rows], for Start::kScale
    int n_k;
    Start start;
  };

  // c[r][x] = start, then fma(a[r][k], b[k][x], c[r][x]) for k ascending.
  template <class T, int R, int V>
  static void block(const Operands<T>& o, Ahead& ahead) {
    const float* const a = o.a;
    const int64_t a_stride = o.a_stride, b_stride = o.b_stride, c_stride = o.c_stride;
    F sum[R][V];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = S::zero();
    }
    if (o.start != Start::kZero) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[r][v] = S::load(o.c + r * c_stride + 16 * v);
      }
    }
    if (o.start == Start::kScale) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const F factor = S::set1(o.factor[r]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[r][v] = S::mul(sum[r][v], factor);
      }
    }
    // Few address registers: rows as base + {0, 1, 2} * stride, columns with one common offset.
    const std::byte* b[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) b[v] = reinterpret_cast<const std::byte*>(o.b[v]);
    const int64_t b_step = b_stride * static_cast<int64_t>(sizeof(typename T::Element));
    constexpr int kLines = sizeof(typename T::Element) / 2;  // a step reads twice as much in f32
    const std::byte* next = ahead.take(o.n_k * kLines, nullptr);
    const std::byte* far = ahead.take(o.n_k * kLines, nullptr);
    const bool fetches = next != nullptr || far != nullptr;
    if (next == nullptr) next = b[0];
    if (far == nullptr) far = b[0];
    const float* a_low = a;
    const float* a_high = R > 3 ? a + 3 * a_stride : a;
    const int64_t end = int64_t{64} * o.n_k;
    int64_t offset = 0;
    // Without anything to fetch there are no instructions that fetch: each takes the place of a
    // load (Intel with AMX, one thread, 128 rows: 145 against 136 GFLOP/s).
    const auto run = [&]<bool kFetch>() __attribute__((always_inline)) {
      for (int64_t line = 0; line < end; line += 64, ++a_low, ++a_high, offset += b_step) {
        if constexpr (kFetch) {
#pragma GCC unroll 2
          for (int i = 0; i < kLines; ++i) {
            __builtin_prefetch(next + line * kLines + 64 * i, 0, 2);
            __builtin_prefetch(far + line * kLines + 64 * i, 0, 2);
          }
        }
        F column[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
          column[v] = T::load(reinterpret_cast<const typename T::Element*>(b[v] + offset));
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const F x = S::set1(r < 3 ? a_low[r * a_stride] : a_high[(r - 3) * a_stride]);
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) sum[r][v] = S::fma(x, column[v], sum[r][v]);
        }
      }
    };
    if (fetches)
      run.template operator()<true>();
    else
      run.template operator()<false>();
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) S::store(o.c + r * c_stride + 16 * v, sum[r][v]);
    }
  }

  // block<T, R, n_vectors> for n_vectors in 1..4, a power of two not above the shape's bound.
  template <class T, int R>
  static void strip(int n_vectors, const Operands<T>& o, Ahead& ahead) {
    constexpr int kMost = ProductShape<S>::max_vectors(R);
    if constexpr (kMost >= 4) {
      if (n_vectors == 4) return block<T, R, 4>(o, ahead);
    }
    if constexpr (kMost >= 2) {
      if (n_vectors == 2) return block<T, R, 2>(o, ahead);
    }
    block<T, R, 1>(o, ahead);
  }

  // The widest block that fits into the rest of a row of vectors.
  template <int R>
  static int width(int n_left) {
    constexpr int kMost = ProductShape<S>::max_vectors(R);
    return n_left >= 4 && kMost >= 4 ? 4 : n_left >= 2 && kMost >= 2 ? 2 : 1;
  }
};

}  // namespace pando::kernel
