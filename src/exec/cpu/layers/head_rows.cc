#include "exec/cpu/layers/head_rows.h"

#include <algorithm>
#include <utility>

#include "base/fault.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"

namespace pando::exec {

HeadRows::HeadRows(const model::ModelSpec& spec, const kernel::Kernels& kernels, ThreadPool& pool,
                   int context, ModelShare share, GatherRows gather, PhaseTimes& times)
    : spec_(spec),
      kernels_(kernels),
      pool_(pool),
      ropes_(spec, context),
      share_(share),
      gather_(std::move(gather)),
      joins_heads_(gather_ && spec.qk_norm == model::QkNorm::kFullWidth),
      ones_(spec.value_norm ? spec.widest_head() : 0, 1.0f),
      times_(times) {
  for (int i = 0; i < spec.n_layers(); ++i) {
    const model::Heads heads = spec.heads(i);
    const size_t q_dim = heads.q_dim(), keys = q_dim * (spec.attention_gate ? 2 : 1);
    const size_t kv_dim = spec.layers[i].keys_back > 0 ? 0 : heads.kv_dim();
    parts_.push_back({heads, q_dim, keys, keys + kv_dim, kv_dim, keys + 2 * kv_dim});
  }
}

void HeadRows::project(int layer, const LayerWeights& weights, uint32_t n_rows,
                       kernel::RowSource source, float* qkv, Products& products) {
  const QkvParts& parts = parts_[layer];
  if (n_rows > 0)
    products.multiply(weights.qkv, n_rows, source, qkv, static_cast<int64_t>(parts.row_len));
  if (!joins_heads_) return;
  Stopwatch watch;
  join_and_norm(layer, weights, n_rows, qkv);
  watch.lap(times_.row_ops_s);
}

// Bias, and the norms over the heads of all ranks.
void HeadRows::join_and_norm(int layer, const LayerWeights& weights, uint32_t n_rows, float* qkv) {
  const QkvParts& parts = parts_[layer];
  const size_t n_ranks = share_.n_ranks, rank = share_.rank;
  const size_t q_dim = parts.q_dim, k_dim = parts.kv_dim, own_dim = q_dim + k_dim;
  const size_t all_q = n_ranks * q_dim, all_k = n_ranks * k_dim;
  // Neighbouring ranks may have the same head.
  const size_t n_copies = std::max<size_t>(1, all_k / weights.k_norm.size());
  own_.reserve(n_rows * own_dim * sizeof(float));
  joined_.reserve(n_rows * n_ranks * own_dim * sizeof(float));
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float *const x = qkv + row * parts.row_len, *const own = own_.as<float>() + row * own_dim;
    fill(layer, weights, x);
    std::copy_n(x, q_dim, own);
    std::copy_n(x + parts.keys, k_dim, own + q_dim);
  });
  gather_(own_.as<float>(), n_rows, {{static_cast<int>(all_q), static_cast<int>(all_k)}},
          joined_.as<float>());
  const size_t part = fault_on(Fault::kHeadsOfFirstRank) ? 0 : rank;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* const x = qkv + row * parts.row_len;
    float* const q = joined_.as<float>() + row * (all_q + all_k);
    float* const k = q + all_q;
    for (size_t i = 1; n_copies > 1 && i < n_ranks / n_copies; ++i)
      std::copy_n(k + i * n_copies * k_dim, k_dim, k + i * k_dim);
    norm_all_heads(weights, q, all_q, k, all_k / n_copies);
    std::copy_n(q + part * q_dim, q_dim, x);
    std::copy_n(k + part / n_copies * k_dim, k_dim, x + parts.keys);
  });
}

// Bias of one row, and its values where they are its keys.
void HeadRows::fill(int layer, const LayerWeights& weights, float* qkv) const {
  if (!weights.qkv_bias.empty())
    kernels_.add(qkv, weights.qkv_bias.data(), static_cast<int>(weights.qkv_bias.size()));
  const QkvParts& parts = parts_[layer];
  if (spec_.layers[layer].values_are_keys)
    std::copy_n(qkv + parts.keys, parts.kv_dim, qkv + parts.values);
}

void HeadRows::norm_all_heads(const LayerWeights& weights, float* q, size_t q_dim, float* k,
                              size_t k_dim) const {
  const float eps = spec_.rms_eps;
  kernels_.rms_norm(q, weights.q_norm.data(), eps, static_cast<int>(q_dim), q);
  kernels_.rms_norm(k, weights.k_norm.data(), eps, static_cast<int>(k_dim), k);
}

void HeadRows::complete(int layer, const LayerWeights& weights, uint32_t /*row*/, uint32_t pos,
                        float* qkv) const {
  const QkvParts& parts = parts_[layer];
  const int head_dim = parts.heads.head_dim, n_heads = parts.heads.n;
  const int n_kv_heads = parts.kv_dim > 0 ? parts.heads.n_kv : 0;
  float *const keys = qkv + parts.keys, *const values = qkv + parts.values;
  if (!joins_heads_) {
    fill(layer, weights, qkv);
    if (spec_.qk_norm == model::QkNorm::kFullWidth)
      norm_all_heads(weights, qkv, parts.q_dim, keys, parts.kv_dim);
  }
  for (int head = 0; head < n_kv_heads && spec_.value_norm; ++head) {
    float* const x = values + int64_t{head} * head_dim;
    kernels_.rms_norm(x, ones_.data(), spec_.rms_eps, head_dim, x);
  }
  const float growth = spec_.rotations[spec_.layers[layer].rotation].query_factor(pos);
  for (int head = 0; head < n_heads + n_kv_heads; ++head) {
    float* x = head < n_heads ? qkv + head * head_dim : keys + (head - n_heads) * head_dim;
    const std::vector<float>& weight = head < n_heads ? weights.q_norm : weights.k_norm;
    const auto norm = [&] { kernels_.rms_norm(x, weight.data(), spec_.rms_eps, head_dim, x); };
    if (spec_.qk_norm == model::QkNorm::kPerHead) norm();
    if (spec_.qk_norm == model::QkNorm::kLayerPerHead) {
      const int own = head < n_heads ? head : head - n_heads;
      kernels_.layer_norm(x, weight.data() + int64_t{own} * head_dim, spec_.rms_eps, head_dim, x);
    }
    ropes_.turn(kernels_, layer, pos, x);
    if (spec_.qk_norm == model::QkNorm::kPerHeadTurned) norm();
    if (growth != 1.0f && head < n_heads) kernels_.scale(x, growth, head_dim, x);
  }
}

float* HeadRows::outputs(int layer, const LayerWeights& /*weights*/, uint32_t n_rows,
                         const float* qkv, float* attended, Products& /*products*/) {
  if (!spec_.attention_gate) return attended;
  Stopwatch watch;
  const QkvParts& parts = parts_[layer];
  for_rows(pool_, n_rows, [&](uint32_t row) {
    kernels_.gate(attended + row * parts.q_dim, qkv + row * parts.row_len + parts.q_dim,
                  static_cast<int>(parts.q_dim));
  });
  watch.lap(times_.row_ops_s);
  return attended;
}

}  // namespace pando::exec
