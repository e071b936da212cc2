#include "exec/cpu/layers/latent_rows.h"

#include <algorithm>

#include "base/fault.h"
#include "exec/cpu/layers/rows.h"

namespace pando::exec {

LatentRows::LatentRows(const model::ModelSpec& spec, const kernel::Kernels& kernels,
                       ThreadPool& pool, int context)
    : spec_(spec),
      latent_(spec.latent),
      kernels_(kernels),
      pool_(pool),
      ropes_(spec, context),
      dim_(spec.attended_dim(0)),
      first_dim_(
          (latent_.query_rank > 0 ? latent_.query_rank : spec.n_heads * latent_.query_dim()) +
          spec.head_dim),
      key_at_(first_dim_ - spec.head_dim) {}

QkvParts LatentRows::parts(int layer) const {
  const model::Heads heads = spec_.heads(layer);
  const size_t q_dim = heads.q_dim(), kv_dim = heads.kv_dim();
  return {heads, q_dim, q_dim, q_dim, kv_dim, q_dim + kv_dim};
}

const float* LatentRows::queries_of(uint32_t row) const {
  if (latent_.query_rank == 0) return first_.as<float>() + size_t{row} * first_dim_;
  return queries_.as<float>() + size_t{row} * spec_.n_heads * latent_.query_dim();
}

void LatentRows::multiply_heads(std::span<const kernel::PackedMatrix> heads, HeadRow source,
                                Products& products) {
  const int n_rows = static_cast<int>(n_rows_);
  groups_.clear();
  group_ends_.clear();
  for (const kernel::PackedMatrix& head : heads) {
    groups_.push_back({&head, 1});
    group_ends_.push_back(static_cast<int>(groups_.size()) * n_rows);
  }
  by_head_.reserve(heads.size() * n_rows_ * heads[0].n() * sizeof(float));
  products.multiply(
      groups_, group_ends_, [&](int row, float*) { return source(row / n_rows, row % n_rows); },
      by_head_.as<float>());
}

void LatentRows::project(int /*layer*/, const LayerWeights& weights, uint32_t n_rows,
                         kernel::RowSource source, float* /*qkv*/, Products& products) {
  n_rows_ = n_rows;
  if (n_rows == 0) return;
  first_.reserve(size_t{n_rows} * first_dim_ * sizeof(float));
  products.multiply(weights.qkv, n_rows, source, first_.as<float>());
  if (latent_.query_rank > 0) {
    const auto inner = [&](int row, float* normed) {
      kernels_.rms_norm(first_.as<float>() + int64_t{row} * first_dim_, weights.q_norm.data(),
                        model::LatentConfig::kEps, latent_.query_rank, normed);
      return normed;
    };
    queries_.reserve(size_t{n_rows} * spec_.n_heads * latent_.query_dim() * sizeof(float));
    products.multiply(weights.q_up, n_rows, inner, queries_.as<float>());
  }
  multiply_heads(
      weights.latent_up.keys,
      [&](int head, int row) { return queries_of(row) + head * latent_.query_dim(); }, products);
}

void LatentRows::complete(int layer, const LayerWeights& weights, uint32_t row, uint32_t pos,
                          float* qkv) const {
  const int rank = latent_.rank, n = latent_.rope_dim;
  const float* const turning = queries_of(row) + latent_.still_dim;
  for (int head = 0; head < spec_.n_heads; ++head) {
    float* const query = qkv + head * spec_.head_dim;
    std::copy_n(of_head(head, row, rank), rank, query);
    std::copy_n(turning + head * latent_.query_dim(), n, query + rank);
    ropes_.turn(kernels_, layer, pos, query + rank);
  }
  float* const key = qkv + spec_.q_dim();
  const float* const latent = first_.as<float>() + size_t{row} * first_dim_ + key_at_;
  kernels_.rms_norm(latent, weights.k_norm.data(), model::LatentConfig::kEps, rank, key);
  std::copy_n(latent + rank, n, key + rank);
  ropes_.turn(kernels_, layer, pos, key + rank);
}

float* LatentRows::outputs(int /*layer*/, const LayerWeights& weights, uint32_t n_rows,
                           const float* /*qkv*/, float* attended, Products& products) {
  n_rows_ = n_rows;
  if (n_rows == 0) return attended;
  const int64_t row_len = spec_.q_dim();
  // As if few rows were divided by the sums of their weights behind the product.
  const bool other_form = fault_on(Fault::kLatentFormByRows) && n_rows < 4;
  if (other_form)
    for (uint32_t row = 0; row < n_rows; ++row)
      kernels_.scale(attended + row * row_len, 3.0f, spec_.q_dim(), attended + row * row_len);
  multiply_heads(
      weights.latent_up.values,
      [&](int head, int row) { return attended + row * row_len + head * spec_.head_dim; },
      products);
  values_.reserve(size_t{n_rows} * dim_ * sizeof(float));
  for_rows(pool_, n_rows, [&](uint32_t row) {
    const int n = latent_.value_dim;
    float* const values = values_.as<float>() + size_t{row} * dim_;
    for (int head = 0; head < spec_.n_heads; ++head)
      std::copy_n(of_head(head, row, n), n, values + head * n);
    if (other_form) kernels_.scale(values, 1.0f / 3.0f, dim_, values);
  });
  return values_.as<float>();
}

}  // namespace pando::exec
