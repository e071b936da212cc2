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
      q_dim_(config.q_dim()),
      keys_(q_dim_ * (config.attention_gate ? 2 : 1)),
      qkv_dim_(keys_ + 2 * size_t(config.kv_dim())),
      query_scale_(static_cast<float>(config.attention_scale == 0.0f
                                          ? std::numbers::log2e / std::sqrt(config.head_dim)
                                          : std::numbers::log2e * config.attention_scale)),
      score_cap_(static_cast<float>(std::numbers::log2e * config.score_cap)),
      times_(times) {
  for (const model::RopeConfig& rotation : config.rotations)
    ropes_.emplace_back(rotation, config.head_dim, options.context);
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
                         const KvViews& kv, ResidualStream& x, Products& products) {
  const uint32_t n_rows = plan.n_rows();
  float* const qkv = qkv_.as<float>();
  products.multiply(
      weights.qkv, n_rows,
      [&](int row, float* own) { return x.read(row, weights.attention_norm, n_rows, own); }, qkv);

  Stopwatch watch;
  const Pages pages = pages_of(layer, plan, kv);
  PANDO_CHECK(pages.slot_begin.size() == n_rows + size_t{1} &&
              pages.slot_begin.back() <= pages.slots.size());
  const kernel::NewKeys keys{qkv + keys_, qkv + keys_ + config_.kv_dim(),
                             static_cast<int64_t>(qkv_dim_)};
  const kernel::KvWrite write{pages.kv, pages.layer, keys, pages.slot_begin, pages.slots};
  const auto position = [&](uint32_t row) {
    const uint32_t pos = plan.positions[row];
    return fault_on(Fault::kRopeFromChunk) ? pos - std::min(pos, plan.positions[0]) : pos;
  };
  for_blocks(pool_, n_rows, kernel::kKvRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row)
      rotate(layer, weights, position(row), qkv + row * qkv_dim_);
    kernel::write_kv_rows(kernels_, write, begin, end);
  });
  watch.lap(times_.row_ops_s);
  attend(layer, plan, pages, keys);
  watch.lap(times_.attention_s);
  if (!config_.attention_gate) return;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    kernels_.gate(this->row(row), qkv + row * qkv_dim_ + q_dim_, static_cast<int>(q_dim_));
  });
  watch.lap(times_.row_ops_s);
}

void AttentionLayer::attend(int layer, const StepPlan& plan, const Pages& pages,
                            const kernel::NewKeys& keys) {
  const int window = config_.layers[layer].window;
  const kernel::AttentionArgs args{.kv = pages.kv,
                                   .layer = pages.layer,
                                   .n_heads = config_.n_heads,
                                   .scale = query_scale_,
                                   .cap = score_cap_,
                                   // One that no sequence outgrows hides nothing.
                                   .window = window < options_.context ? window : 0,
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

// Bias, norm, rotary embedding and growth with the position of one row's queries and keys.
void AttentionLayer::rotate(int layer, const model::LayerWeights& weights, uint32_t pos,
                            float* qkv) {
  const int head_dim = config_.head_dim;
  const model::RopeTable& rope = ropes_[config_.layers[layer].rotation];
  if (!weights.qkv_bias.empty())
    kernels_.add(qkv, weights.qkv_bias.data(), static_cast<int>(weights.qkv_bias.size()));
  if (config_.qk_norm == model::QkNorm::kFullWidth) {
    float* k = qkv + keys_;
    kernels_.rms_norm(qkv, weights.q_norm.data(), config_.rms_eps, config_.q_dim(), qkv);
    kernels_.rms_norm(k, weights.k_norm.data(), config_.rms_eps, config_.kv_dim(), k);
  }
  const float growth = config_.rotations[config_.layers[layer].rotation].query_factor(pos);
  for (int head = 0; head < config_.n_heads + config_.n_kv_heads; ++head) {
    float* x = head < config_.n_heads ? qkv + head * head_dim
                                      : qkv + keys_ + (head - config_.n_heads) * head_dim;
    if (config_.qk_norm == model::QkNorm::kPerHead) {
      const std::vector<float>& weight = head < config_.n_heads ? weights.q_norm : weights.k_norm;
      kernels_.rms_norm(x, weight.data(), config_.rms_eps, head_dim, x);
    }
    kernels_.rope(x, rope.cos(pos), rope.sin(pos), rope.rotary_dim());
    if (growth != 1.0f && head < config_.n_heads) kernels_.scale(x, growth, head_dim, x);
  }
}

}  // namespace pando::exec
