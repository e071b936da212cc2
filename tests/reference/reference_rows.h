// Operations on rows that several parts of the reference forward pass use.
#pragma once

#include <cmath>
#include <vector>

#include "reference/reference_math.h"

namespace pando::reference {

inline void rms_norm(const float* x, const std::vector<float>& w, float eps, float* y) {
  const int n = static_cast<int>(w.size());
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  const float r = 1.0f / std::sqrt(sum16(lanes) / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) y[i] = (x[i] * r) * w[i];
}

// Every row of x: [n_rows, w.size()]; no weights change nothing.
inline std::vector<float> rms_norm_rows(const std::vector<float>& x, const std::vector<float>& w,
                                        float eps) {
  if (w.empty()) return x;
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); i += w.size()) rms_norm(&x[i], w, eps, &y[i]);
  return y;
}

// Rotates every head of x: [n_tokens, n_heads, head_dim]; token t is at position t.
inline void rotate(std::vector<float>& x, int n_tokens, int head_dim,
                   const std::vector<double>& frequencies, double factor) {
  const int half = static_cast<int>(frequencies.size());
  const size_t row = x.size() / n_tokens;
  for (int p = 0; p < n_tokens; ++p) {
    for (int i = 0; i < half; ++i) {
      const double angle = p * frequencies[i];
      const float c = static_cast<float>(std::cos(angle) * factor),
                  s = static_cast<float>(std::sin(angle) * factor);
      for (size_t head = p * row; head < (p + 1) * row; head += head_dim) {
        const float a = x[head + i], b = x[head + half + i];
        x[head + i] = std::fma(a, c, -(b * s));
        x[head + half + i] = std::fma(b, c, a * s);
      }
    }
  }
}

}  // namespace pando::reference
