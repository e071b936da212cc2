#include "exec/scalar/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exec/scalar/attention.h"

namespace pando::exec::scalar {

AttentionLayers::AttentionLayers(const model::ModelSpec& spec, const KvOptions& options,
                                 ThreadPool& pool)
    : spec_(spec),
      pool_(pool),
      rotations_(spec, options.context),
      places_(kv_places(spec, options.window_pages, options.context)) {}

LayerPages AttentionLayers::pages_of(int layer, const StepPlan& plan, const KvViews& kv) const {
  const KvPlace& place = places_[layer];
  if (place.in_windows)
    return {kv.windows[place.group], place.layer, plan.windows.slot_begin, plan.windows.slots,
            plan.windows.task_pages};
  return {kv.pages[place.group], place.layer, plan.slot_begin, plan.slots, plan.task_pages};
}

size_t AttentionLayers::query_width(int layer) const {
  return static_cast<size_t>(spec_.heads(layer).q_dim()) * (spec_.attention_gate ? 2 : 1);
}

Rows AttentionLayers::write(int layer, const LayerWeights& weights, const StepPlan& plan,
                            const KvViews& kv, const Rows& h) const {
  const ProjectedLayer projected{spec_, layer, weights, rotations_, pool_};
  Projections rows = spec_.has_latent() ? project_latents(projected, h, plan.positions)
                                        : project_heads(projected, h, plan.positions);
  const LayerPages pages = pages_of(layer, plan, kv);
  for (uint32_t row = 0; row < rows.keys.n; ++row)
    write_row(pages, row, rows.keys.row(row), rows.values.row(row));
  return std::move(rows.queries);
}

Rows AttentionLayers::attend(int layer, const LayerWeights& weights, const StepPlan& plan,
                             const KvViews& kv, const Rows& queries,
                             std::span<const uint32_t> last_of_texts) const {
  const model::Heads heads = spec_.heads(layer);
  const auto window = static_cast<uint32_t>(spec_.layers[layer].window);
  const double scale = spec_.attention_scale == 0.0f
                           ? std::numbers::log2e / std::sqrt(heads.head_dim)
                           : std::numbers::log2e * spec_.attention_scale;
  std::vector<uint32_t> last = plan.positions;
  for (size_t row = 0; row < last_of_texts.size(); ++row)
    last[row] = window == 0 ? last_of_texts[row]
                            : std::min(last_of_texts[row], plan.positions[row] + window - 1);
  const AttentionCall call{.pages = pages_of(layer, plan, kv),
                           .heads = heads,
                           .scale = static_cast<float>(scale),
                           .score_cap = static_cast<float>(std::numbers::log2e * spec_.score_cap),
                           .window = window,
                           .sinks = weights.values(Role::kSinks),
                           .positions = plan.positions,
                           .last_seen = last,
                           .tasks = plan.tasks};
  Rows attended = scalar::attend(call, queries, pool_);
  const ProjectedLayer projected{spec_, layer, weights, rotations_, pool_};
  if (spec_.has_latent()) return values_of_latents(projected, attended);
  gate_heads(projected, queries, attended);
  return attended;
}

}  // namespace pando::exec::scalar
