// The pieces of docs/arithmetic.md that several operations use.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pando::reference {

inline float sum16(const float* lanes) {
  float l[16];
  std::copy_n(lanes, 16, l);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) l[i] += l[i + width];
  return l[0];
}

inline float exp2(float x) {
  if (x < -125.0f) return 0.0f;
  x = std::min(x, 127.0f);
  const float n = std::nearbyintf(x), f = x - n;
  float p = 0x1.430912p-13f;
  for (const float c :
       {0x1.5d87fep-10f, 0x1.3b2ab6p-7f, 0x1.c6b08ep-5f, 0x1.ebfbep-3f, 0x1.62e43p-1f, 1.0f})
    p = std::fma(p, f, c);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                              (static_cast<uint32_t>(static_cast<int>(n)) << 23));
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exp2(x * -0x1.715476p+0f)); }

inline float silu(float x) { return x / (1.0f + exp2(x * -0x1.715476p+0f)); }

inline float gelu(float x) {
  const float p = std::fma(x * x, -0x1.a5a7dp-4f, -0x1.26aec2p+1f);
  return x / (1.0f + exp2(x * p));
}

inline float gelu_erf(float x) {
  const float size = std::fabs(x), t = 1.0f / std::fma(size, 0x1.da671p-3f, 1.0f);
  float p = 0x1.0fb844p-1f;
  for (const float c : {-0x1.7401c6p-1f, 0x1.6be1c6p-1f, -0x1.23531cp-3f, 0x1.04f20cp-3f})
    p = std::fma(p, t, c);
  return std::max(0.0f, x) - size * ((p * t) * exp2((x * x) * -0x1.715476p-1f));
}

inline float clamped_swiglu(float gate, float up, float alpha, float limit) {
  const float g = std::min(gate, limit), u = std::max(-limit, std::min(up, limit));
  return (u + 1.0f) * (g / (1.0f + exp2(g * (alpha * -0x1.715476p+0f))));
}

// x: not empty.
inline std::vector<float> softmax(std::vector<float> x) {
  const float most = *std::ranges::max_element(x);
  float lanes[16] = {};
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = exp2((x[i] - most) * 0x1.715476p+0f);
    lanes[i % 16] += x[i];
  }
  const float sum = sum16(lanes);
  for (float& value : x) value /= sum;
  return x;
}

// cap tanh(x / cap); 0: x.
inline float capped(float x, float cap) {
  if (cap == 0.0f) return x;
  const float e = exp2((std::fabs(x) / cap) * -0x1.715476p+1f);
  const float y = cap * ((1.0f - e) / (1.0f + e));
  return x < 0.0f ? 0.0f - y : y;
}

inline float softplus(float x) {
  const float e = exp2(-std::fabs(x) * 0x1.715476p+0f), s = e / (2.0f + e), t = s * s;
  float p = static_cast<float>(1.0 / 15);
  for (const int n : {13, 11, 9, 7, 5, 3, 1}) p = std::fma(p, t, static_cast<float>(1.0 / n));
  return std::max(x, 0.0f) + (2.0f * s) * p;
}

// x, w, y: [n].
inline void layer_norm(const float* x, const float* w, int n, float eps, float* y) {
  float sums[16] = {}, squares[16] = {};
  for (int i = 0; i < n; ++i) sums[i % 16] += x[i];
  const float mean = sum16(sums) / static_cast<float>(n);
  for (int i = 0; i < n; ++i) squares[i % 16] = std::fma(x[i] - mean, x[i] - mean, squares[i % 16]);
  const float r = 1.0f / std::sqrt(sum16(squares) / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) y[i] = ((x[i] - mean) * r) * w[i];
}

}  // namespace pando::reference
