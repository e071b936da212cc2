#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/isa.h"

namespace pando::exec {
namespace {

double row_products(const Weights& weights) {
  const model::ExpertsConfig& experts = weights.spec.experts;
  const double used = static_cast<double>(experts.n_used) / std::max(1, experts.n_experts);
  double n = 0;
  for (const LayerWeights& layer : weights.layers)
    layer.each_matrix([&](const kernel::PackedMatrix& matrix, bool of_expert) {
      n += static_cast<double>(matrix.n()) * matrix.k() * (of_expert ? used : 1);
    });
  // Products of integers in blocks take half the time with AVX-512, a third with AMX.
  constexpr double kIntegersFaster = 2.5;
  const WeightTypeInfo& type = info_of(weights.layers[0].o.type());
  return type.block_len > 1 || type.type == DType::kI8 ? n / kIntegersFaster : n;
}

// The hooks of `options`, or none. Hooks of another kind of executor are a mistake of the caller.
const PassHooks& hooks_of(const ExecutorOptions& options) {
  static const PassHooks none;
  if (options.hooks == nullptr) return none;
  const auto* const own = dynamic_cast<const PassHooks*>(options.hooks.get());
  PANDO_CHECK(own != nullptr);
  return *own;
}

}  // namespace

CpuExecutor::CpuExecutor(const Weights& weights, ThreadPool& pool, const ExecutorOptions& options,
                         const KvSizes& sizes)
    : CpuExecutor(weights, pool, options, hooks_of(options), sizes) {}

CpuExecutor::CpuExecutor(const Weights& weights, ThreadPool& pool, const ExecutorOptions& options,
                         const PassHooks& hooks, const KvSizes& sizes)
    : store_(hooks.store),
      poison_pages_(options.poison_pages),
      states_(sizes.n_slots * sizes.slot_bytes),
      memory_(std::span(sizes.pages), store_ != nullptr ? 0 : sizes.n_pages),
      windows_(std::span(sizes.windows), sizes.n_window_pages),
      transformer_(weights, *kernel::kernels_by_name(options.isa).value(), pool,
                   {.context = options.kv.context,
                    .attention = hooks.attention,
                    .window_pages = sizes.window > 0,
                    .all_rows = options.all_rows,
                    .gather = hooks.gather,
                    .spread = hooks.spread}) {
  const bool has_experts = weights.spec.has(model::FeedForward::kExperts);
  facts_ = {.vocab = weights.spec.vocab,
            .d_model = weights.spec.d_model,
            .page_len = options.kv.page_len,
            .tile_len = options.kv.tile_len,
            .n_pages = sizes.n_pages,
            .page_bytes = exec::page_bytes(sizes.pages),
            .kv_capacity = sizes.kv_capacity,
            .longest_path = sizes.room().longest_path(),
            .window = sizes.window,
            .n_window_pages = sizes.n_window_pages,
            .window_page_bytes = exec::page_bytes(sizes.windows),
            .n_slots = sizes.n_slots,
            .slot_bytes = sizes.slot_bytes,
            .n_experts = has_experts ? weights.spec.experts.n_experts : 0,
            .n_used_experts = has_experts ? weights.spec.experts.n_used : 0,
            .keeps_keys = !options.kv.one_layer,
            .name = options.isa};
  if (store_ == nullptr) return;
  facts_.n_pages = options.n_numbers;
  facts_.page_bytes = 0;
  PANDO_CHECK(sizes.pages.size() == 1);  // techniques know no other pages
  hooks.store->open({.shape = sizes.pages[0],
                     .n_heads = weights.spec.n_heads,
                     .n_threads = pool.n_threads(),
                     .row_products = row_products(weights)},
                    options.kv.memory);
}

size_t CpuExecutor::kv_bytes(size_t n_used) const {
  return store_ != nullptr ? store_->n_bytes() : n_used * facts_.page_bytes;
}

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
  return transformer_.forward(plan, own, {memory_.views(), windows_.views()}, {states_.as<float>()},
                              before);
}

const float* CpuExecutor::hidden(uint32_t first, uint32_t) {
  return hidden_ + size_t{first} * facts_.d_model;
}

void CpuExecutor::logits(uint32_t first, uint32_t n, float* out) {
  transformer_.logits(hidden(first, n), n, out);
}

// A page is fresh if a copy goes to it, or if its first position is written and no copy reads it
// first. A slot is fresh if it is written.
void CpuExecutor::poison(const StepPlan& plan) const {
  const auto fill = [](const kernel::KvView& view, const std::vector<PageCopy>& copies,
                       const std::vector<KvSlot>& slots) {
    const auto fill_page = [&](PageId page) {
      if (std::ranges::find(copies, page, &PageCopy::from) != copies.end()) return;
      std::memset(view.page(page), 0xff, view.shape.page_bytes());
    };
    for (const PageCopy& copy : copies) fill_page(copy.to);
    for (const KvSlot& slot : slots)
      if (slot.offset == 0) fill_page(slot.page);
  };
  for (const kernel::KvView& view : memory_.views()) fill(view, plan.copies, plan.slots);
  for (const kernel::KvView& view : windows_.views())
    fill(view, plan.windows.copies, plan.windows.slots);
  for (const StateWrite& write : plan.state_writes)
    std::memset(states_.data() + write.to * facts_.slot_bytes, 0xff, facts_.slot_bytes);
}

}  // namespace pando::exec
