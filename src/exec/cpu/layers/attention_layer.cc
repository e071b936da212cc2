#include "exec/cpu/layers/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/fault.h"
#include "exec/cpu/layers/head_rows.h"
#include "exec/cpu/layers/latent_rows.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"

namespace pando::exec {

AttentionLayer::AttentionLayer(const model::ModelSpec& spec, const kernel::Kernels& kernels,
                               ThreadPool& pool, const AttentionOptions& options, PhaseTimes& times)
    : spec_(spec),
      kernels_(kernels),
      pool_(pool),
      options_(options),
      places_(kv_places(spec, options.window_pages, options.context)),
      score_cap_(static_cast<float>(std::numbers::log2e * spec.score_cap)),
      times_(times) {
  if (spec.has_latent())
    rows_ = std::make_unique<LatentRows>(spec, kernels, pool, options.context);
  else
    rows_ = std::make_unique<HeadRows>(spec, kernels, pool, options.context, options.share,
                                       options.gather, times);
  for (int i = 0; i < spec.n_layers(); ++i) parts_.push_back(rows_->parts(i));
}

AttentionLayer::Pages AttentionLayer::pages_of(int layer, const StepPlan& plan,
                                               const KvViews& kv) const {
  const KvPlace& place = places_[layer];
  if (place.in_windows)
    return {kv.windows[place.group], place.layer, plan.windows.slot_begin, plan.windows.slots,
            plan.windows.task_pages};
  return {kv.pages[place.group], place.layer, plan.slot_begin, plan.slots, plan.task_pages};
}

void AttentionLayer::begin(uint32_t n_rows) {
  size_t row_len = 0, q_dim = 0;  // of the widest layers
  for (const QkvParts& parts : parts_) {
    row_len = std::max(row_len, parts.row_len);
    q_dim = std::max(q_dim, parts.q_dim);
  }
  qkv_.reserve(n_rows * row_len * sizeof(float));
  attended_.reserve(n_rows * q_dim * sizeof(float));
}

void AttentionLayer::run(int layer, const LayerWeights& weights, const StepPlan& plan, RowRange own,
                         const KvViews& kv, ResidualStream& x, Products& products) {
  write(layer, weights, plan, own, kv, x, products);
  attend(layer, weights, plan, own, {}, kv, products);
}

void AttentionLayer::write(int layer, const LayerWeights& weights, const StepPlan& plan,
                           RowRange own, const KvViews& kv, ResidualStream& x, Products& products) {
  const uint32_t n_rows = plan.n_rows();
  const QkvParts& parts = parts_[layer];
  const auto stride = static_cast<int64_t>(parts.row_len);
  float* const qkv = qkv_.as<float>();
  const auto normed_row = [&](int row, float* normed) {
    return x.read(row, weights.attention_norm, own.size(), normed);
  };
  rows_->project(layer, weights, own.size(), normed_row, qkv + own.begin * stride, products);

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
  for_blocks(pool_, own.size(), kernel::kKvRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = own.begin + begin; row < own.begin + end; ++row)
      rows_->complete(layer, weights, row - own.begin, position(row), qkv + row * stride);
    if (!options_.spread && parts.kv_dim > 0) kernel::write_kv_rows(kernels_, write, begin, end);
  });
  if (options_.spread) {
    options_.spread(qkv, parts.row_len);
    if (parts.kv_dim > 0) kernel::write_kv(kernels_, pool_, write);
  }
  watch.lap(times_.row_ops_s);
}

// Null if the layer has none.
const float* AttentionLayer::sink_scores(const LayerWeights& weights) {
  sinks_.clear();
  for (const float sink : weights.sinks)
    sinks_.push_back(static_cast<float>(std::numbers::log2e * sink));
  return sinks_.empty() ? nullptr : sinks_.data();
}

// Empty: each row sees what is before it.
std::span<const uint32_t> AttentionLayer::last_seen(int layer, const StepPlan& plan,
                                                    std::span<const uint32_t> last_of_text) {
  const auto window = static_cast<uint32_t>(spec_.layers[layer].window);
  if (window == 0) return last_of_text;
  last_.clear();
  for (size_t row = 0; row < last_of_text.size(); ++row)
    last_.push_back(std::min(last_of_text[row], plan.positions[row] + window - 1));
  return last_;
}

void AttentionLayer::attend(int layer, const LayerWeights& weights, const StepPlan& plan,
                            RowRange own, std::span<const uint32_t> last_of_text, const KvViews& kv,
                            Products& products) {
  Stopwatch watch;
  const Pages pages = pages_of(layer, plan, kv);
  const QkvParts& parts = parts_[layer];
  const auto stride = static_cast<int64_t>(parts.row_len);
  float* const qkv = qkv_.as<float>();
  const kernel::NewKeys keys{qkv + parts.keys, qkv + parts.values, stride};
  const int window = spec_.layers[layer].window;
  const double scale = spec_.attention_scale == 0.0f
                           ? std::numbers::log2e / std::sqrt(parts.heads.head_dim)
                           : std::numbers::log2e * spec_.attention_scale;
  const kernel::AttentionArgs args{.kv = pages.kv,
                                   .layer = pages.layer,
                                   .n_heads = parts.heads.n,
                                   .scale = static_cast<float>(scale),
                                   .cap = score_cap_,
                                   // One that no sequence outgrows hides nothing.
                                   .window = window < options_.context ? window : 0,
                                   .sinks = sink_scores(weights),
                                   .positions = plan.positions,
                                   .last_seen = last_seen(layer, plan, last_of_text),
                                   .tasks = plan.tasks,
                                   .task_pages = pages.task_pages,
                                   .q = qkv,
                                   .q_stride = stride,
                                   .out = attended_.as<float>()};
  if (options_.attention)
    options_.attention({plan, layer, args, keys, kernels_, pool_, scratch_});
  else
    kernel::attention(kernels_, pool_, args, scratch_);
  watch.lap(times_.attention_s);
  outputs_ = rows_->outputs(layer, weights, own.size(), qkv + own.begin * stride,
                            attended_.as<float>(), products);
}

}  // namespace pando::exec
