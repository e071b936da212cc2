#include "exec/scalar/rows.h"

#include <algorithm>
#include <cmath>

#include "exec/scalar/math.h"

namespace pando::exec::scalar {

void add(float* x, const float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] += y[i];
}

void scale(float* x, float factor, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] *= factor;
}

void rms_norm(const float* x, const float* weight, float eps, int n, float* y) {
  const float r = 1.0f / std::sqrt(dot16(x, x, n) / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) y[i] = (x[i] * r) * weight[i];
}

void layer_norm(const float* x, const float* weight, float eps, int n, float* y) {
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] += x[i];
  const float mean = sum16(lanes) / static_cast<float>(n);
  for (int i = 0; i < n; ++i) y[i] = x[i] - mean;
  rms_norm(y, weight, eps, n, y);
}

void norm_row(const model::ModelSpec& spec, std::span<const float> weight, const float* x,
              float* y) {
  const auto n = static_cast<size_t>(spec.d_model);
  if (weight.empty()) {
    if (x != y) std::copy_n(x, n, y);
    return;
  }
  const auto norm = spec.norm == model::Norm::kRms ? rms_norm : layer_norm;
  norm(x, weight.data(), spec.rms_eps, spec.d_model, y);
  if (weight.size() > n) add(y, weight.data() + n, n);
}

Rows norm_rows(const model::ModelSpec& spec, std::span<const float> weight, const Rows& x,
               ThreadPool& pool) {
  Rows y(x.n, x.width);
  each_row(pool, x.n, [&](uint32_t row) { norm_row(spec, weight, x.row(row), y.row(row)); });
  return y;
}

}  // namespace pando::exec::scalar
