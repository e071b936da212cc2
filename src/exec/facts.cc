#include "exec/facts.h"

namespace pando::exec {

ExecutorFacts facts_of(const model::ModelSpec& spec, const ExecutorOptions& options,
                       const KvSizes& sizes) {
  const bool has_experts = spec.has(model::FeedForward::kExperts);
  const KvRoom room = sizes.room();
  return {.vocab = spec.vocab,
          .d_model = spec.d_model,
          .page_len = options.kv.page_len,
          .tile_len = options.kv.tile_len,
          .n_pages = room.n_pages,
          .page_bytes = room.page_bytes,
          .kv_capacity = room.kv_capacity,
          .longest_path = room.longest_path(),
          .window = room.window,
          .n_window_pages = room.n_window_pages,
          .window_page_bytes = room.window_page_bytes,
          .n_slots = room.n_slots,
          .slot_bytes = room.slot_bytes,
          .n_experts = has_experts ? spec.experts.n_experts : 0,
          .n_used_experts = has_experts ? spec.experts.n_used : 0,
          .n_passes = spec.n_passes(),
          .name = options.isa};
}

}  // namespace pando::exec
