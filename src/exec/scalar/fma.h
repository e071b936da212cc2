// Chains of fused multiply-adds. The loops are compiled twice: where the processor has the
// instruction, std::fma is one; elsewhere it is a call. The bits are the same.
#pragma once

#include <cmath>

namespace pando::exec::scalar {

inline __attribute__((always_inline)) float fma_chain_loop(const float* x, const float* y, int n) {
  float acc = 0.0f;
  for (int i = 0; i < n; ++i) acc = std::fma(x[i], y[i], acc);
  return acc;
}
inline __attribute__((always_inline)) void fma_row_loop(float x, const float* y, int n,
                                                        float* acc) {
  for (int i = 0; i < n; ++i) acc[i] = std::fma(x, y[i], acc[i]);
}

#if defined(__x86_64__)
inline __attribute__((target("fma"))) float fma_chain_fast(const float* x, const float* y, int n) {
  return fma_chain_loop(x, y, n);
}
inline __attribute__((target("fma"))) void fma_row_fast(float x, const float* y, int n,
                                                        float* acc) {
  fma_row_loop(x, y, n, acc);
}
inline const bool kHasFma = __builtin_cpu_supports("fma") != 0;
#endif

// The sum of x[i] * y[i] as one chain, i ascending; both [n].
inline float fma_chain(const float* x, const float* y, int n) {
#if defined(__x86_64__)
  if (kHasFma) return fma_chain_fast(x, y, n);
#endif
  return fma_chain_loop(x, y, n);
}

// acc[i] += x * y[i]; both [n].
inline void fma_row(float x, const float* y, int n, float* acc) {
#if defined(__x86_64__)
  if (kHasFma) return fma_row_fast(x, y, n, acc);
#endif
  fma_row_loop(x, y, n, acc);
}

}  // namespace pando::exec::scalar
