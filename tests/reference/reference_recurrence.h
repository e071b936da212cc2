// Recurrent layers, piece by piece: docs/arithmetic.md, "Recurrent layers", as plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/reference_math.h"

namespace pando::reference {

// exp(rate * step)
inline float decay(float rate, float step) { return exp2((rate * step) * 0x1.715476p+0f); }

// x, y: [n]
inline float dot16(const float* x, const float* y, int n) {
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], y[i], lanes[i % 16]);
  return sum16(lanes);
}

// x: [n], in place.
inline void l2_norm(float* x, float factor, int n) {
  const float r = 1.0f / std::sqrt(dot16(x, x, n) + 1e-6f);
  for (int i = 0; i < n; ++i) x[i] = x[i] * (r * factor);
}

// One channel at one position; `u` and `w`: [taps], the oldest position first.
inline float convolved(const std::vector<float>& u, const std::vector<float>& w, float bias) {
  float acc = bias;
  for (size_t m = 0; m < w.size(); ++m) acc = std::fma(w[m], u[m], acc);
  return acc;
}

// The state of one head.
struct HeadState {
  int key_dim, value_dim;
  std::vector<float> s = std::vector<float>(size_t(key_dim) * value_dim, 0.0f);  // row-major
  float& at(int i, int j) { return s[size_t(i) * value_dim + j]; }
};

// Gated delta rule, one row. k, q: [key_dim]; v, o: [value_dim].
inline void delta_net_row(HeadState& state, const float* k, const float* q, const float* v,
                          float alpha, float beta, float* o) {
  const float s = dot16(q, k, state.key_dim);
  for (int j = 0; j < state.value_dim; ++j) {
    float r = 0.0f, p = 0.0f;
    for (int i = 0; i < state.key_dim; ++i) {
      r = std::fma(k[i], state.at(i, j), r);
      p = std::fma(q[i], state.at(i, j), p);
    }
    const float delta = std::fma(-alpha, r, v[j]) * beta;
    o[j] = std::fma(s, delta, alpha * p);
    for (int i = 0; i < state.key_dim; ++i)
      state.at(i, j) = std::fma(k[i], delta, alpha * state.at(i, j));
  }
}

// Mamba2, one row. b, c: [key_dim]; x, o: [value_dim].
inline void mamba2_row(HeadState& state, const float* b, const float* c, const float* x,
                       float alpha, float step, float skip, float* o) {
  for (int j = 0; j < state.value_dim; ++j) {
    const float v = step * x[j];
    float sum = 0.0f;
    for (int i = 0; i < state.key_dim; ++i) {
      state.at(i, j) = std::fma(b[i], v, alpha * state.at(i, j));
      sum = std::fma(c[i], state.at(i, j), sum);
    }
    o[j] = std::fma(skip, x[j], sum);
  }
}

}  // namespace pando::reference
