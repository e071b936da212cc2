#include "exec/cpu/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/fault.h"
#include "exec/cpu/rows.h"
#include "exec/cpu/stopwatch.h"

namespace pando::exec {

AttentionLayer::AttentionLayer(const model::ModelConfig& config, const kernel::Kernels& kernels,
                               ThreadPool& pool, const AttentionOptions& options, PhaseTimes& times)
    : config_(config),
      kernels_(kernels),
      pool_(pool),
      options_(options),
      joins_heads_(options.gather && config.qk_norm == model::QkNorm::kFullWidth),
      places_(kv_places(config, options.window_pages, options.context)),
      ones_(config.value_norm ? config.widest_head() : 0, 1.0f),
      score_cap_(static_cast<float>(std::numbers::log2e * config.score_cap)),
      times_(times) {
  if (config.has_latent()) latent_.emplace(config, kernels, pool);
  std::vector<std::pair<int, int>> made;  // rotations and sizes of heads that ropes_ has
  for (int i = 0; i < config.n_layers(); ++i) {
    const model::LayerConfig& layer = config.layers[i];
    const model::Heads heads = config.heads(i);
    const size_t q_dim = heads.q_dim(), keys = q_dim * (config.attention_gate ? 2 : 1);
    const size_t kv_dim = layer.keys_back > 0 ? 0 : heads.kv_dim();
    const size_t values = keys + (config.has_latent() ? 0 : kv_dim);
    parts_.push_back({heads, q_dim, keys, values, kv_dim, values + kv_dim});
    const int turned = config.has_latent() ? config.latent.rope_dim : heads.head_dim;
    const std::pair of_layer(layer.rotation, turned);
    const auto found = std::ranges::find(made, of_layer);
    rope_of_.push_back(found - made.begin());
    if (found != made.end()) continue;
    made.push_back(of_layer);
    ropes_.emplace_back(config.rotations[layer.rotation], turned, options.context);
  }
}

AttentionLayer::Pages AttentionLayer::pages_of(int layer, const StepPlan& plan,
                                               const KvViews& kv) const {
  const KvPlace& place = places_[layer];
  if (place.in_windows)
    return {kv.windows[place.group], place.layer, plan.windows.slot_begin, plan.windows.slots,
            plan.windows.task_pages};
  // If there is one layer, all write it in turn.
  const kernel::KvView& view = kv.pages[place.group];
  return {view, view.shape.n_layers == 1 ? 0 : place.layer, plan.slot_begin, plan.slots,
          plan.task_pages};
}

void AttentionLayer::begin(uint32_t n_rows) {
  const auto widest = [&](size_t Parts::*part) {
    return std::ranges::max(parts_ | std::views::transform(part));
  };
  if (parts_.empty()) return;
  qkv_.reserve(n_rows * widest(&Parts::row_len) * sizeof(float));
  attended_.reserve(n_rows * widest(&Parts::q_dim) * sizeof(float));
}

void AttentionLayer::run(int layer, const model::LayerWeights& weights, const StepPlan& plan,
                         RowRange own, const KvViews& kv, ResidualStream& x, Products& products) {
  const uint32_t n_rows = plan.n_rows();
  const Parts& parts = parts_[layer];
  const auto stride = static_cast<int64_t>(parts.row_len);
  float* const qkv = qkv_.as<float>();
  const auto normed_row = [&](int row, float* normed) {
    return x.read(row, weights.attention_norm, own.size(), normed);
  };
  if (latent_)
    latent_->project(weights, own.size(), normed_row, products);
  else if (own.size() > 0)
    products.multiply(weights.qkv, own.size(), normed_row, qkv + own.begin * stride, stride);

  Stopwatch watch;
  const Pages pages = pages_of(layer, plan, kv);
  PANDO_CHECK(pages.slot_begin.size() == n_rows + size_t{1} &&
              pages.slot_begin.back() <= pages.slots.size());
  const kernel::NewKeys keys{qkv + parts.keys, qkv + parts.values, stride};
  const kernel::KvWrite write{pages.kv, pages.layer, keys, pages.slot_begin, pages.slots};
  const auto position = [&](uint32_t row) {
    const uint32_t pos = plan.positions[row];
    return fault_on(Fault::kRopeFromChunk) ? pos - std::min(pos, plan.positions[0]) : pos;
  };
  if (joins_heads_) join_and_norm(parts, weights, own.size(), qkv + own.begin * stride);
  for_blocks(pool_, own.size(), kernel::kKvRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = own.begin + begin; row < own.begin + end; ++row) {
      float* const to = qkv + row * stride;
      if (latent_)
        latent_->write_row(weights, ropes_[rope_of_[layer]], position(row), row - own.begin, to,
                           to + parts.keys);
      else
        rotate(layer, weights, position(row), to);
    }
    if (!options_.spread && parts.kv_dim > 0) kernel::write_kv_rows(kernels_, write, begin, end);
  });
  if (options_.spread) {
    options_.spread(qkv, parts.row_len);
    if (parts.kv_dim > 0) kernel::write_kv(kernels_, pool_, write);
  }
  watch.lap(times_.row_ops_s);
  attend(layer, weights, plan, pages, keys);
  watch.lap(times_.attention_s);
  if (latent_) return latent_->expand(weights, own.size(), attended_.as<float>(), products);
  if (!config_.attention_gate) return;
  for_rows(pool_, own.size(), [&](uint32_t row) {
    kernels_.gate(this->row(layer, row), qkv + (own.begin + row) * stride + parts.q_dim,
                  static_cast<int>(parts.q_dim));
  });
  watch.lap(times_.row_ops_s);
}

// Null where the layer has none.
const float* AttentionLayer::sink_scores(const model::LayerWeights& weights) {
  sinks_.clear();
  for (const float sink : weights.sinks)
    sinks_.push_back(static_cast<float>(std::numbers::log2e * sink));
  return sinks_.empty() ? nullptr : sinks_.data();
}

void AttentionLayer::attend(int layer, const model::LayerWeights& weights, const StepPlan& plan,
                            const Pages& pages, const kernel::NewKeys& keys) {
  const int window = config_.layers[layer].window;
  const model::Heads& heads = parts_[layer].heads;
  const double scale = config_.attention_scale == 0.0f
                           ? std::numbers::log2e / std::sqrt(heads.head_dim)
                           : std::numbers::log2e * config_.attention_scale;
  const kernel::AttentionArgs args{.kv = pages.kv,
                                   .layer = pages.layer,
                                   .n_heads = heads.n,
                                   .scale = static_cast<float>(scale),
                                   .cap = score_cap_,
                                   // One that no sequence outgrows hides nothing.
                                   .window = window < options_.context ? window : 0,
                                   .sinks = sink_scores(weights),
                                   .positions = plan.positions,
                                   .tasks = plan.tasks,
                                   .task_pages = pages.task_pages,
                                   .q = qkv_.as<float>(),
                                   .q_stride = keys.stride,
                                   .out = attended_.as<float>()};
  if (options_.attention)
    options_.attention({plan, layer, args, keys, kernels_, pool_, scratch_});
  else
    kernel::attention(kernels_, pool_, args, scratch_);
}

// Bias, and the norms over the heads of all ranks, of the rows from `qkv` on.
void AttentionLayer::join_and_norm(const Parts& parts, const model::LayerWeights& weights,
                                   uint32_t n_rows, float* qkv) {
  const size_t n_ranks = options_.share.n_ranks, rank = options_.share.rank;
  const size_t q_dim = parts.q_dim, k_dim = parts.kv_dim, own_dim = q_dim + k_dim;
  const size_t all_q = n_ranks * q_dim, all_k = n_ranks * k_dim;
  own_.reserve(n_rows * own_dim * sizeof(float));
  joined_.reserve(n_rows * n_ranks * own_dim * sizeof(float));
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float *const x = qkv + row * parts.row_len, *const own = own_.as<float>() + row * own_dim;
    add_bias(weights, x);
    std::copy_n(x, q_dim, own);
    std::copy_n(x + parts.keys, k_dim, own + q_dim);
  });
  options_.gather(own_.as<float>(), n_rows, {{static_cast<int>(all_q), static_cast<int>(all_k)}},
                  joined_.as<float>());
  const size_t part = fault_on(Fault::kHeadsOfFirstRank) ? 0 : rank;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* const x = qkv + row * parts.row_len;
    float* const q = joined_.as<float>() + row * (all_q + all_k);
    float* const k = q + all_q;
    norm_all_heads(weights, q, all_q, k, all_k);
    std::copy_n(q + part * q_dim, q_dim, x);
    std::copy_n(k + part * k_dim, k_dim, x + parts.keys);
  });
}

void AttentionLayer::add_bias(const model::LayerWeights& weights, float* qkv) const {
  if (!weights.qkv_bias.empty())
    kernels_.add(qkv, weights.qkv_bias.data(), static_cast<int>(weights.qkv_bias.size()));
}

void AttentionLayer::norm_all_heads(const model::LayerWeights& weights, float* q, size_t q_dim,
                                    float* k, size_t k_dim) const {
  const float eps = config_.rms_eps;
  kernels_.rms_norm(q, weights.q_norm.data(), eps, static_cast<int>(q_dim), q);
  kernels_.rms_norm(k, weights.k_norm.data(), eps, static_cast<int>(k_dim), k);
}

// Bias, norm, rotary embedding and growth with the position of one row's queries and keys; bias and
// norm of its values.
void AttentionLayer::rotate(int layer, const model::LayerWeights& weights, uint32_t pos,
                            float* qkv) {
  const Parts& parts = parts_[layer];
  const int head_dim = parts.heads.head_dim, n_heads = parts.heads.n;
  const int n_kv_heads = parts.kv_dim > 0 ? parts.heads.n_kv : 0;
  float *const keys = qkv + parts.keys, *const values = qkv + parts.values;
  const model::RopeTable& rope = ropes_[rope_of_[layer]];
  if (!joins_heads_) {
    add_bias(weights, qkv);
    if (config_.layers[layer].values_are_keys) std::copy_n(keys, parts.kv_dim, values);
    if (config_.qk_norm == model::QkNorm::kFullWidth)
      norm_all_heads(weights, qkv, parts.q_dim, keys, parts.kv_dim);
  }
  for (int head = 0; head < n_kv_heads && config_.value_norm; ++head) {
    float* const x = values + int64_t{head} * head_dim;
    kernels_.rms_norm(x, ones_.data(), config_.rms_eps, head_dim, x);
  }
  const float growth = config_.rotations[config_.layers[layer].rotation].query_factor(pos);
  for (int head = 0; head < n_heads + n_kv_heads; ++head) {
    float* x = head < n_heads ? qkv + head * head_dim : keys + (head - n_heads) * head_dim;
    const auto norm = [&] {
      const std::vector<float>& weight = head < n_heads ? weights.q_norm : weights.k_norm;
      kernels_.rms_norm(x, weight.data(), config_.rms_eps, head_dim, x);
    };
    if (config_.qk_norm == model::QkNorm::kPerHead) norm();
    kernels_.rope(x, rope.cos(pos), rope.sin(pos), rope.rotary_dim());
    if (config_.qk_norm == model::QkNorm::kPerHeadTurned) norm();
    if (growth != 1.0f && head < n_heads) kernels_.scale(x, growth, head_dim, x);
  }
}

}  // namespace pando::exec
