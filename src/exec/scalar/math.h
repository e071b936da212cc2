// Functions of one value, and sums in sixteen lanes: docs/arithmetic.md, "Pieces".
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pando::exec::scalar {

inline constexpr float kLog2e = 0x1.715476p+0f;

// l: [16].
inline float sum16(const float* l) {
  float sums[16];
  std::copy_n(l, 16, sums);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
  return sums[0];
}

// x, y: [n].
inline float dot16(const float* x, const float* y, int n) {
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], y[i], lanes[i % 16]);
  return sum16(lanes);
}

inline float exp2(float x) {
  if (std::isnan(x)) return x;
  if (x < -125.0f) return 0.0f;
  x = std::min(x, 127.0f);
  const float n = std::nearbyint(x), f = x - n;
  float p = 0x1.430912p-13f;
  for (const float c :
       {0x1.5d87fep-10f, 0x1.3b2ab6p-7f, 0x1.c6b08ep-5f, 0x1.ebfbep-3f, 0x1.62e43p-1f, 1.0f})
    p = std::fma(p, f, c);
  const auto shift = static_cast<uint32_t>(static_cast<int32_t>(n)) << 23;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) + shift);
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exp2(x * -kLog2e)); }
inline float silu(float x) { return x / (1.0f + exp2(x * -kLog2e)); }

// By tanh.
inline float gelu(float x) {
  const float p = std::fma(x * x, -0x1.a5a7dp-4f, -0x1.26aec2p+1f);
  return x / (1.0f + exp2(x * p));
}

inline float gelu_erf(float x) {
  const float size = std::fabs(x), t = 1.0f / std::fma(size, 0x1.da671p-3f, 1.0f);
  float p = 0x1.0fb844p-1f;
  for (const float c : {-0x1.7401c6p-1f, 0x1.6be1c6p-1f, -0x1.23531cp-3f, 0x1.04f20cp-3f})
    p = std::fma(p, t, c);
  const float e = exp2((x * x) * -0x1.715476p-1f);
  return std::max(x, 0.0f) - size * ((p * t) * e);
}

inline float clamped_swiglu(float gate, float up, float alpha, float limit) {
  const float g = std::min(gate, limit), u = std::max(std::min(up, limit), -limit);
  return (u + 1.0f) * (g / (1.0f + exp2(g * (alpha * -kLog2e))));
}

// cap tanh(x / cap)
inline float soft_cap(float x, float cap) {
  const float e = exp2((std::fabs(x) / cap) * -0x1.715476p+1f);
  const float y = cap * ((1.0f - e) / (1.0f + e));
  return x < 0.0f ? 0.0f - y : y;
}

// log(1 + e^x)
inline float softplus(float x) {
  const float e = exp2(std::fabs(x) * -kLog2e), s = e / (2.0f + e), t = s * s;
  float p = 1.0f / 15.0f;
  for (const float n : {13.0f, 11.0f, 9.0f, 7.0f, 5.0f, 3.0f, 1.0f}) p = std::fma(p, t, 1.0f / n);
  return std::max(x, 0.0f) + (s + s) * p;
}

// x becomes its softmax; x: [n], n above 0.
inline void softmax(float* x, int n) {
  const float most = *std::max_element(x, x + n);
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) {
    x[i] = exp2((x[i] - most) * kLog2e);
    lanes[i % 16] += x[i];
  }
  const float sum = sum16(lanes);
  for (int i = 0; i < n; ++i) x[i] = x[i] / sum;
}

}  // namespace pando::exec::scalar
