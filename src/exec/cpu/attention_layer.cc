#include "exec/cpu/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"
#include "base/fault.h"
#include "exec/cpu/kv_sizes.h"
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
      q_dim_(config.q_dim()),
      keys_(q_dim_ * (config.attention_gate ? 2 : 1)),
      qkv_dim_(keys_ + (config.has_latent() ? 1 : 2) * size_t(config.kv_dim())),
      query_scale_(static_cast<float>(config.attention_scale == 0.0f
                                          ? std::numbers::log2e / std::sqrt(config.head_dim)
                                          : std::numbers::log2e * config.attention_scale)),
      score_cap_(static_cast<float>(std::numbers::log2e * config.score_cap)),
      times_(times) {
  if (config.has_latent()) latent_.emplace(config, kernels, pool);
  for (const model::RopeConfig& rotation : config.rotations)
    ropes_.emplace_back(rotation, config.rope_head_dim(), options.context);
  int n_before = 0, n_windows_before = 0;
  for (const model::LayerConfig& layer : config.layers) {
    int& n = has_window_pages(layer) ? n_windows_before : n_before;
    kv_layers_.push_back(n);
    n += layer.mixer == model::Mixer::kAttention;
  }
}

bool AttentionLayer::has_window_pages(const model::LayerConfig& layer) const {
  return options_.window_pages && has_window(layer, options_.context);
}

AttentionLayer::Pages AttentionLayer::pages_of(int layer, const StepPlan& plan,
                                               const KvViews& kv) const {
  if (has_window_pages(config_.layers[layer]))
    return {kv.windows, kv_layers_[layer], plan.windows.slot_begin, plan.windows.slots,
            plan.windows.task_pages};
  // If there is one layer, all write it in turn.
  return {kv.pages, kv.pages.shape.n_layers == 1 ? 0 : kv_layers_[layer], plan.slot_begin,
          plan.slots, plan.task_pages};
}

void AttentionLayer::begin(uint32_t n_rows) {
  qkv_.reserve(n_rows * qkv_dim_ * sizeof(float));
  attended_.reserve(n_rows * q_dim_ * sizeof(float));
}

void AttentionLayer::run(int layer, const model::LayerWeights& weights, const StepPlan& plan,
                         RowRange own, const KvViews& kv, ResidualStream& x, Products& products) {
  const uint32_t n_rows = plan.n_rows();
  float* const qkv = qkv_.as<float>();
  const auto normed_row = [&](int row, float* normed) {
    return x.read(row, weights.attention_norm, own.size(), normed);
  };
  if (latent_)
    latent_->project(weights, own.size(), normed_row, products);
  else if (own.size() > 0)
    products.multiply(weights.qkv, own.size(), normed_row, qkv + own.begin * qkv_dim_);

  Stopwatch watch;
  const Pages pages = pages_of(layer, plan, kv);
  PANDO_CHECK(pages.slot_begin.size() == n_rows + size_t{1} &&
              pages.slot_begin.back() <= pages.slots.size());
  const kernel::NewKeys keys{qkv + keys_, qkv + keys_ + (latent_ ? 0 : config_.kv_dim()),
                             static_cast<int64_t>(qkv_dim_)};
  const kernel::KvWrite write{pages.kv, pages.layer, keys, pages.slot_begin, pages.slots};
  const auto position = [&](uint32_t row) {
    const uint32_t pos = plan.positions[row];
    return fault_on(Fault::kRopeFromChunk) ? pos - std::min(pos, plan.positions[0]) : pos;
  };
  if (joins_heads_) join_and_norm(weights, own.size(), qkv + own.begin * qkv_dim_);
  for_blocks(pool_, own.size(), kernel::kKvRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = own.begin + begin; row < own.begin + end; ++row) {
      float* const to = qkv + row * qkv_dim_;
      if (latent_)
        latent_->write_row(weights, ropes_[config_.layers[layer].rotation], position(row),
                           row - own.begin, to, to + keys_);
      else
        rotate(layer, weights, position(row), to);
    }
    if (!options_.spread) kernel::write_kv_rows(kernels_, write, begin, end);
  });
  if (options_.spread) {
    options_.spread(qkv, qkv_dim_);
    kernel::write_kv(kernels_, pool_, write);
  }
  watch.lap(times_.row_ops_s);
  attend(layer, weights, plan, pages, keys);
  watch.lap(times_.attention_s);
  if (latent_) return latent_->expand(weights, own.size(), attended_.as<float>(), products);
  if (!config_.attention_gate) return;
  for_rows(pool_, own.size(), [&](uint32_t row) {
    kernels_.gate(this->row(row), qkv + (own.begin + row) * qkv_dim_ + q_dim_,
                  static_cast<int>(q_dim_));
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
  const kernel::AttentionArgs args{.kv = pages.kv,
                                   .layer = pages.layer,
                                   .n_heads = config_.n_heads,
                                   .scale = query_scale_,
                                   .cap = score_cap_,
                                   // One that no sequence outgrows hides nothing.
                                   .window = window < options_.context ? window : 0,
                                   .sinks = sink_scores(weights),
                                   .positions = plan.positions,
                                   .tasks = plan.tasks,
                                   .task_pages = pages.task_pages,
                                   .q = qkv_.as<float>(),
                                   .q_stride = static_cast<int64_t>(qkv_dim_),
                                   .out = attended_.as<float>()};
  if (options_.attention)
    options_.attention({plan, layer, args, keys, kernels_, pool_, scratch_});
  else
    kernel::attention(kernels_, pool_, args, scratch_);
}

// Bias, and the norms over the heads of all ranks, of the rows from `qkv` on.
void AttentionLayer::join_and_norm(const model::LayerWeights& weights, uint32_t n_rows,
                                   float* qkv) {
  const size_t n_ranks = options_.share.n_ranks, rank = options_.share.rank;
  const size_t k_dim = config_.kv_dim(), own_dim = q_dim_ + k_dim;
  const size_t all_q = n_ranks * q_dim_, all_k = n_ranks * k_dim;
  own_.reserve(n_rows * own_dim * sizeof(float));
  joined_.reserve(n_rows * n_ranks * own_dim * sizeof(float));
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float *const x = qkv + row * qkv_dim_, *const own = own_.as<float>() + row * own_dim;
    add_bias(weights, x);
    std::copy_n(x, q_dim_, own);
    std::copy_n(x + keys_, k_dim, own + q_dim_);
  });
  options_.gather(own_.as<float>(), n_rows, {{static_cast<int>(all_q), static_cast<int>(all_k)}},
                  joined_.as<float>());
  const size_t part = fault_on(Fault::kHeadsOfFirstRank) ? 0 : rank;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float *const x = qkv + row * qkv_dim_, *const q = joined_.as<float>() + row * (all_q + all_k);
    float* const k = q + all_q;
    norm_all_heads(weights, q, all_q, k, all_k);
    std::copy_n(q + part * q_dim_, q_dim_, x);
    std::copy_n(k + part * k_dim, k_dim, x + keys_);
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

// Bias, norm, rotary embedding and growth with the position of one row's queries and keys.
void AttentionLayer::rotate(int layer, const model::LayerWeights& weights, uint32_t pos,
                            float* qkv) {
  const int head_dim = config_.head_dim;
  const model::RopeTable& rope = ropes_[config_.layers[layer].rotation];
  if (!joins_heads_) {
    add_bias(weights, qkv);
    if (config_.qk_norm == model::QkNorm::kFullWidth)
      norm_all_heads(weights, qkv, q_dim_, qkv + keys_, config_.kv_dim());
  }
  const float growth = config_.rotations[config_.layers[layer].rotation].query_factor(pos);
  for (int head = 0; head < config_.n_heads + config_.n_kv_heads; ++head) {
    float* x = head < config_.n_heads ? qkv + head * head_dim
                                      : qkv + keys_ + (head - config_.n_heads) * head_dim;
    const auto norm = [&] {
      const std::vector<float>& weight = head < config_.n_heads ? weights.q_norm : weights.k_norm;
      kernels_.rms_norm(x, weight.data(), config_.rms_eps, head_dim, x);
    };
    if (config_.qk_norm == model::QkNorm::kPerHead) norm();
    kernels_.rope(x, rope.cos(pos), rope.sin(pos), rope.rotary_dim());
    if (config_.qk_norm == model::QkNorm::kPerHeadTurned) norm();
    if (growth != 1.0f && head < config_.n_heads) kernels_.scale(x, growth, head_dim, x);
  }
}

}  // namespace pando::exec
