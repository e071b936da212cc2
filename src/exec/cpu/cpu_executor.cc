#include "exec/cpu/cpu_executor.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "exec/cpu/kernel/isa.h"

namespace pando::exec {

ExecutorFacts facts_of(const Weights& weights, const ExecutorOptions& options,
                       const KvSizes& sizes) {
  const bool has_experts = weights.spec.has(model::FeedForward::kExperts);
  return {.vocab = weights.spec.vocab,
          .d_model = weights.spec.d_model,
          .page_len = options.kv.page_len,
          .tile_len = options.kv.tile_len,
          .n_pages = sizes.n_pages,
          .page_bytes = sizes.all_page_bytes(),
          .kv_capacity = sizes.kv_capacity,
          .longest_path = sizes.room().longest_path(),
          .window = sizes.window,
          .n_window_pages = sizes.n_window_pages,
          .window_page_bytes = page_bytes(sizes.windows),
          .n_slots = sizes.n_slots,
          .slot_bytes = sizes.slot_bytes,
          .n_experts = has_experts ? weights.spec.experts.n_experts : 0,
          .n_used_experts = has_experts ? weights.spec.experts.n_used : 0,
          .n_passes = weights.spec.n_passes(),
          .name = options.isa};
}

CpuExecutor::CpuExecutor(const Weights& weights, ThreadPool& pool, const ExecutorOptions& options,
                         const KvSizes& sizes, const RankExchange& exchange)
    : facts_(facts_of(weights, options, sizes)),
      poison_pages_(options.poison_pages),
      states_(sizes.n_slots * sizes.slot_bytes),
      memory_(std::span(sizes.pages), sizes.n_pages),
      windows_(std::span(sizes.windows), sizes.n_window_pages),
      texts_(sizes.n_pages, sizes.page_len, sizes.text_row_bytes),
      transformer_(weights, *kernel::kernels_by_name(options.isa).value(), pool,
                   {.context = options.kv.context,
                    .attention = exchange.attention,
                    .window_pages = sizes.window > 0,
                    .all_rows = options.all_rows,
                    .gather = exchange.gather,
                    .spread = exchange.spread}) {}

void CpuExecutor::submit(StepPlan plan) {
  PANDO_CHECK(submitted_.size() < static_cast<size_t>(facts_.depth));
  submitted_.push_back(std::move(plan));
}

void CpuExecutor::finish() {
  PANDO_CHECK(!submitted_.empty());
  const StepPlan plan = std::move(submitted_.front());
  submitted_.pop_front();
  try {
    hidden_ = compute(plan, {0, plan.n_rows()}, nullptr);
  } catch (...) {
    submitted_.clear();
    throw;
  }
}

const float* CpuExecutor::compute(const StepPlan& plan, RowRange own, const float* before) {
  if (poison_pages_) poison(plan);
  if (!plan.texts.empty()) return transformer_.encode(plan, {memory_.views()}, texts_, before);
  return transformer_.forward(plan, own, {memory_.views(), windows_.views()}, {states_.as<float>()},
                              before);
}

const float* CpuExecutor::hidden(uint32_t first, uint32_t) {
  return hidden_ + size_t{first} * facts_.d_model;
}

void CpuExecutor::logits(uint32_t first, uint32_t n, float* out) {
  transformer_.logits(hidden(first, n), n, out);
}

void CpuExecutor::poison(const StepPlan& plan) const {
  if (!plan.texts.empty()) return poison_texts(plan);
  for (const kernel::KvView& view : memory_.views()) poison_pages(view, plan.copies, plan.slots);
  for (const kernel::KvView& view : windows_.views())
    poison_pages(view, plan.windows.copies, plan.windows.slots);
  for (const StateWrite& write : plan.state_writes)
    std::memset(states_.data() + write.to * facts_.slot_bytes, 0xff, facts_.slot_bytes);
}

// The pages of a text are fresh in its first step.
void CpuExecutor::poison_texts(const StepPlan& plan) const {
  for (const TextPasses& text : plan.texts) {
    if (text.first_pass + text.first_row > 0) continue;
    const auto slots = std::span(plan.slots).subspan(text.row_begin, text.n_rows());
    for (const kernel::KvView& view : memory_.views()) poison_pages(view, {}, slots);
    for (const KvSlot& slot : slots) std::memset(texts_.row(slot), 0xff, texts_.row_bytes());
  }
}

}  // namespace pando::exec
