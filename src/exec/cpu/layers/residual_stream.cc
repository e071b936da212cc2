#include "exec/cpu/layers/residual_stream.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/fault.h"

namespace pando::exec {

void ResidualStream::begin(uint32_t n_rows) {
  const size_t n_bytes = size_t{n_rows} * d_model_ * sizeof(float);
  x_.reserve(n_bytes);
  sums_.reserve(n_bytes);
  pending_ = false;
}

void ResidualStream::add(std::span<const float> bias, std::span<const float> norm, float factor) {
  pending_ = true;
  bias_ = bias;
  norm_ = norm;
  factor_ = factor;
}

const float* ResidualStream::settle(uint32_t row) {
  float* const x = this->row(row);
  if (!pending_) return x;
  float* const y = sums_.as<float>() + size_t{row} * d_model_;
  if (!bias_.empty()) kernels_.add(y, bias_.data(), d_model_);
  if (!post_norm_) norm(norm_, y, y);
  if (scale_ != 1.0f) kernels_.scale(y, scale_, d_model_, y);
  kernels_.add(x, y, d_model_);
  if (post_norm_) norm(norm_, x, x);
  if (factor_ != 1.0f) kernels_.scale(x, factor_, d_model_, x);
  return x;
}

const float* ResidualStream::read(uint32_t row, std::span<const float> norm, uint32_t n_rows,
                                  float* own) {
  const float* const x = settle(row);
  if (norm.empty()) return x;
  if (fault_on(Fault::kScalarTailRow) && n_rows % 2 == 1 && row + 1 == n_rows) {
    float sum = 0;
    for (int i = 0; i < d_model_; ++i) sum += x[i] * x[i];
    const float r = 1.0f / std::sqrt(sum / static_cast<float>(d_model_) + eps_);
    for (int i = 0; i < d_model_; ++i) own[i] = x[i] * r * norm[i];
    if (std::ssize(norm) > d_model_) kernels_.add(own, norm.data() + d_model_, d_model_);
  } else {
    this->norm(norm, x, own);
  }
  return own;
}

void ResidualStream::norm(std::span<const float> norm, const float* x, float* y) const {
  if (norm.empty()) {
    if (x != y) std::copy_n(x, d_model_, y);
    return;
  }
  norm_of_(x, norm.data(), eps_, d_model_, y);
  if (std::ssize(norm) > d_model_) kernels_.add(y, norm.data() + d_model_, d_model_);
}

}  // namespace pando::exec
