// Integers with a scale: docs/arithmetic.md, "Matrix products", read aloud.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"

namespace pando::reference {

// x of n values as scale * q - minimum, or those of each half of 32 with a factor of its own.
struct Quantised {
  std::vector<int8_t> q;  // [n]
  float scale = 0.0f;
  float minimum = 0.0f;
  int factors[2] = {1, 1};

  float value(int i) const {
    return scale * static_cast<float>(factors[i / 16 % 2] * q[i]) - minimum;
  }
};

// The sum of products with the activations of a group, with the factors of both halves: exact.
inline float sum_of_products(const int8_t* x, const int8_t* w, size_t n, const int* factors) {
  int sums[2] = {};
  for (size_t i = 0; i < n && i < 16; ++i) sums[0] += int{x[i]} * int{w[i]};
  for (size_t i = 16; i < n; ++i) sums[1] += int{x[i]} * int{w[i]};
  return std::fma(static_cast<float>(sums[1]), static_cast<float>(factors[1]),
                  static_cast<float>(sums[0]) * static_cast<float>(factors[0]));
}

// Rounds x[i] * factor.
inline Quantised quantise_with(const float* x, int n, float scale, float factor, float least,
                               float most) {
  Quantised result{std::vector<int8_t>(n), scale};
  for (int i = 0; i < n && scale != 0.0f; ++i)
    result.q[i] = static_cast<int8_t>(std::clamp(std::nearbyintf(x[i] * factor), least, most));
  return result;
}

// Activations of a group, and a row of int8 weights.
inline Quantised quantise_by_amax(const float* x, int n) {
  float amax = 0.0f;
  for (int i = 0; i < n; ++i) amax = std::max(amax, std::fabs(x[i]));
  if (amax < 0x1p-100f) amax = 0.0f;
  return quantise_with(x, n, amax / 127.0f, 127.0f / amax, -127.0f, 127.0f);
}

// A weight or an activation of bf16_dot.
inline float rounded_for_dot(float x) {
  return std::fabs(x) < 0x1p-50f ? 0.0f : bf16_to_f32(f32_to_bf16(x));
}

// Weights that share a scale.
inline Quantised quantise(const float* w, int n, DType type) {
  if (type == DType::kI8) return quantise_by_amax(w, n);
  float most = 0.0f;  // the first of the largest magnitude, with its sign
  for (int i = 0; i < n; ++i)
    if (std::fabs(w[i]) > std::fabs(most)) most = w[i];
  const bool q8 = type == DType::kQ8_0;
  const float d = f16_to_f32(f32_to_f16(q8 ? std::fabs(most) / 127.0f : most / -8.0f));
  return quantise_with(w, n, d, 1.0f / d, q8 ? -127.0f : -8.0f, q8 ? 127.0f : 7.0f);
}

}  // namespace pando::reference
