// Products of the reference forward pass, as chains of fused multiply-adds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// Loops over `fma_rows` are built twice: where the machine has the instruction, std::fma is one;
// elsewhere it is a call. The bits are the same.
#if defined(__x86_64__)
#define PANDO_TARGET_FMA __attribute__((target("avx2,fma")))
#endif

namespace pando::reference {

// acc[j] = fma(x[i], w[i][j], acc[j]) for i ascending: every chain of the reference.
// x: [k], w: k rows of n, `stride` apart, acc: [n].
inline __attribute__((always_inline)) void fma_rows_loop(const float* x, int k, const float* w,
                                                         int64_t stride, int n, float* acc) {
  constexpr int kWidth = 64;
  int j = 0;
  for (; j + kWidth <= n; j += kWidth) {
    float chain[kWidth];
    std::copy_n(acc + j, kWidth, chain);
    for (int i = 0; i < k; ++i)
      for (int lane = 0; lane < kWidth; ++lane)
        chain[lane] = std::fma(x[i], w[i * stride + j + lane], chain[lane]);
    std::copy_n(chain, kWidth, acc + j);
  }
  for (int i = 0; i < k; ++i)
    for (int rest = j; rest < n; ++rest)
      acc[rest] = std::fma(x[i], w[i * stride + rest], acc[rest]);
}

#if defined(__x86_64__)
PANDO_TARGET_FMA inline void fma_rows_fast(const float* x, int k, const float* w, int64_t stride,
                                           int n, float* acc) {
  fma_rows_loop(x, k, w, stride, n, acc);
}
#endif

inline void fma_rows(const float* x, int k, const float* w, int64_t stride, int n, float* acc) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fast) return fma_rows_fast(x, k, w, stride, n, acc);
#endif
  fma_rows_loop(x, k, w, stride, n, acc);
}

#undef PANDO_TARGET_FMA

}  // namespace pando::reference
