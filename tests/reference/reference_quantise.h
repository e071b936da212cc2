// Integers with a scale: docs/arithmetic.md, "Matrix products", read aloud.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"

namespace pando::reference {

// x of n values as scale * q - minimum.
struct Quantised {
  std::vector<int8_t> q;  // [n]
  float scale = 0.0f;
  float minimum = 0.0f;

  float value(int i) const { return scale * static_cast<float>(q[i]) - minimum; }
};

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

// n weights in blocks of Q4_K as groups of 32. A block is f16 d; f16 m; twelve bytes with eight
// scales and eight minima of six bits; 128 bytes of halves, two groups in each 32.
inline std::vector<Quantised> read_q4_k(const void* bytes, int64_t n) {
  std::vector<Quantised> groups;
  const uint8_t* block = static_cast<const uint8_t*>(bytes);
  for (int64_t i = 0; i < n; i += 256, block += 144) {
    uint16_t d, m;
    std::memcpy(&d, block, 2);
    std::memcpy(&m, block + 2, 2);
    const uint8_t* s = block + 4;
    int scales[8], minima[8];
    for (int j = 0; j < 4; ++j) {
      scales[j] = s[j] % 64, minima[j] = s[4 + j] % 64;
      scales[4 + j] = s[8 + j] % 16 + s[j] / 64 * 16;
      minima[4 + j] = s[8 + j] / 16 + s[4 + j] / 64 * 16;
    }
    for (int j = 0; j < 8; ++j) {
      Quantised group{std::vector<int8_t>(32), f16_to_f32(d) * static_cast<float>(scales[j]),
                      f16_to_f32(m) * static_cast<float>(minima[j])};
      for (int k = 0; k < 32; ++k) {
        const uint8_t both = block[16 + j / 2 * 32 + k];
        group.q[k] = static_cast<int8_t>(j % 2 == 0 ? both % 16 : both / 16);
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

// n weights in blocks of Q4_K of any bits, of a deviation near 1/16.
inline std::string random_q4_k(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes;
  const auto add_half = [&](double largest) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const uint16_t bits = f32_to_f16(static_cast<float>((2 * unit - 1) * largest));
    bytes.append(reinterpret_cast<const char*>(&bits), 2);
  };
  for (int64_t i = 0; i < n; i += 256) {
    add_half(6e-4);
    add_half(3e-3);
    for (int j = 0; j < 140; ++j) bytes += static_cast<char>(random());
  }
  return bytes;
}

}  // namespace pando::reference
