#include "exec/cpu/latent_attention.h"

#include <algorithm>

#include "base/fault.h"

namespace pando::exec {

LatentAttention::LatentAttention(const model::ModelConfig& config, const kernel::Kernels& kernels)
    : config_(config),
      latent_(config.latent),
      kernels_(kernels),
      dim_(config.attended_dim()),
      first_dim_(
          (latent_.query_rank > 0 ? latent_.query_rank : config.n_heads * latent_.query_dim()) +
          config.head_dim),
      key_at_(first_dim_ - config.head_dim) {}

void LatentAttention::begin(uint32_t n_rows) {
  const size_t n = n_rows;
  first_.reserve(n * first_dim_ * sizeof(float));
  if (latent_.query_rank > 0)
    queries_.reserve(n * config_.n_heads * latent_.query_dim() * sizeof(float));
  values_.reserve(n * dim_ * sizeof(float));
}

const float* LatentAttention::queries_of(uint32_t row) const {
  if (latent_.query_rank == 0) return first_.as<float>() + size_t{row} * first_dim_;
  return queries_.as<float>() + size_t{row} * config_.n_heads * latent_.query_dim();
}

void LatentAttention::project(const model::LayerWeights& weights, uint32_t n_rows,
                              kernel::RowSource source, Products& products, float* queries,
                              int64_t row_len) {
  if (n_rows == 0) return;
  products.multiply(weights.qkv, n_rows, source, first_.as<float>());
  if (latent_.query_rank > 0) {
    const auto inner = [&](int row, float* normed) {
      kernels_.rms_norm(first_.as<float>() + int64_t{row} * first_dim_, weights.q_norm.data(),
                        model::LatentConfig::kEps, latent_.query_rank, normed);
      return normed;
    };
    products.multiply(weights.q_up, n_rows, inner, queries_.as<float>());
  }
  const auto still = [&](int head, int row) {
    return queries_of(row) + head * latent_.query_dim();
  };
  products.multiply_each(weights.latent_up.keys, n_rows, still,
                         {.y = queries, .step = config_.head_dim, .row_stride = row_len});
}

void LatentAttention::finish_row(const model::LayerWeights& weights, const model::RopeTable& rope,
                                 uint32_t pos, uint32_t row, float* queries, float* key) const {
  const int rank = latent_.rank, n = latent_.rope_dim;
  const float* from = queries_of(row) + latent_.still_dim;
  for (int head = 0; head < config_.n_heads; ++head) {
    float* const rotated = queries + head * config_.head_dim + rank;
    std::copy_n(from + head * latent_.query_dim(), n, rotated);
    kernels_.rope(rotated, rope.cos(pos), rope.sin(pos), rope.rotary_dim());
  }
  const float* latent = first_.as<float>() + size_t{row} * first_dim_ + key_at_;
  kernels_.rms_norm(latent, weights.k_norm.data(), model::LatentConfig::kEps, rank, key);
  std::copy_n(latent + rank, n, key + rank);
  kernels_.rope(key + rank, rope.cos(pos), rope.sin(pos), rope.rotary_dim());
}

void LatentAttention::expand(const model::LayerWeights& weights, uint32_t n_rows, float* attended,
                             Products& products) {
  if (n_rows == 0) return;
  const int64_t row_len = config_.q_dim();
  // As if few rows were divided by their sums behind the product, and many before it.
  const bool other_form = fault_on(Fault::kLatentFormByRows) && n_rows < 4;
  if (other_form)
    for (uint32_t row = 0; row < n_rows; ++row)
      kernels_.scale(attended + row * row_len, 3.0f, config_.q_dim(), attended + row * row_len);
  const auto latent = [&](int head, int row) {
    return attended + row * row_len + head * config_.head_dim;
  };
  products.multiply_each(weights.latent_up.values, n_rows, latent,
                         {.y = values_.as<float>(), .step = latent_.value_dim, .row_stride = dim_});
  if (other_form)
    for (uint32_t row = 0; row < n_rows; ++row)
      kernels_.scale(this->row(row), 1.0f / 3.0f, dim_, this->row(row));
}

}  // namespace pando::exec
