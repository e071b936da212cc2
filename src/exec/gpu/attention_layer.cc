#include "exec/gpu/attention_layer.h"

#include <cmath>
#include <numbers>

namespace pando::exec::gpu {

AttentionLayers::AttentionLayers(Host& host, const model::ModelSpec& spec,
                                 const ExecutorOptions& options, const KvSizes& sizes,
                                 Products& products)
    : host_(host),
      spec_(spec),
      products_(products),
      poison_pages_(options.poison_pages),
      rotations_(host, spec, options.kv.context),
      places_(kv_places(spec, options.kv.window_pages, options.kv.context)),
      pages_{PagePool(host, sizes.pages, sizes.n_pages), {}, {}},
      windows_{PagePool(host, sizes.windows, sizes.n_window_pages), {}, {}},
      attention_(host),
      growth_(spec.rotations.size()) {}

void AttentionLayers::begin(const StepPlan& plan) {
  begin(pages_, plan.copies, plan.slot_begin, plan.slots);
  begin(windows_, plan.windows.copies, plan.windows.slot_begin, plan.windows.slots);
  positions_.set(host_, plan.positions);
  for (size_t i = 0; i < growth_.size(); ++i)
    growth_[i].set(host_, query_growth(spec_.rotations[i], plan.positions));
  attention_.set_plan(plan);
}

void AttentionLayers::begin(Pages& pages, std::span<const PageCopy> copies,
                            const std::vector<uint32_t>& begins,
                            const std::vector<KvSlot>& slots) {
  if (pages.pool.groups.empty()) return;
  if (poison_pages_) poison(host_, pages.pool, copies, slots);
  copy_pages(host_, pages.pool, copies);
  pages.slot_begin.set(host_, begins);
  pages.slots.set(host_, slots);
}

void AttentionLayers::run(int layer, const LayerWeights& weights, const Rows& h, Rows& attended) {
  const model::LayerConfig& kind = spec_.layers[layer];
  const KvPlace& place = places_[layer];
  Pages& pages = place.in_windows ? windows_ : pages_;
  products_.multiply(weights.stack(Role::kQkv), h, all_);
  const HeadCall heads{spec_, layer, rotations_.of_layer(layer), positions_.buffer(),
                       growth_[kind.rotation].buffer()};
  const KeysAndValues written =
      project(host_, heads, weights.values(Role::kQkvBias), weights.values(Role::kQNorm),
              weights.values(Role::kKNorm), all_, spare_);
  if (!written.keys.empty())
    write_rows(host_, pages.pool, place.group, place.layer,
               {pages.slot_begin.buffer(), pages.slots.buffer()}, written);
  const int head_dim = spec_.heads(layer).head_dim;
  const double scale = spec_.attention_scale == 0.0f
                           ? std::numbers::log2e / std::sqrt(head_dim)
                           : std::numbers::log2e * spec_.attention_scale;
  const AttentionCall call{.pool = pages.pool,
                           .group = place.group,
                           .layer = place.layer,
                           .in_windows = place.in_windows,
                           .heads = spec_.heads(layer),
                           .scale = static_cast<float>(scale),
                           .score_cap = static_cast<float>(std::numbers::log2e * spec_.score_cap),
                           .window = static_cast<uint32_t>(kind.window),
                           .sinks = weights.values(Role::kSinks)};
  attention_.attend(call, all_, attended);
  gate_heads(host_, spec_, all_, attended);
}

}  // namespace pando::exec::gpu
