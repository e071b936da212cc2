#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "kernel/isa.h"

namespace pando::exec {
namespace {

// In models with states, half of kv_memory is for states. But there are no more states than pages,
// because places are further apart than a page is long.
size_t n_slots_in(const CpuOptions& options, size_t slot_bytes, size_t page_bytes) {
  if (slot_bytes == 0) return 0;
  if (options.n_slots > 0) return options.n_slots;
  return std::min(options.kv_memory / 2 / slot_bytes,
                  options.kv_memory / (slot_bytes + page_bytes));
}

}  // namespace

kernel::KvShape kv_shape_of(const model::ModelConfig& config, const CpuOptions& options) {
  return {.type = options.kv_type,
          .n_layers = options.hooks.one_layer ? 1 : config.n_attention_layers(),
          .n_kv_heads = config.n_kv_heads,
          .head_dim = config.head_dim,
          .page_len = options.page_len,
          .tile_len = options.tile_len,
          .span_len = options.span_len};
}

Status CpuExecutor::check_memory(const model::ModelConfig& config, const CpuOptions& options) {
  const kernel::KvShape shape = kv_shape_of(config, options);
  const size_t slot_bytes = StateLayout(config).slot_bytes(), kv_memory = options.kv_memory;
  const size_t page_bytes = shape.page_bytes();
  const size_t n_slots = n_slots_in(options, slot_bytes, page_bytes);
  if (slot_bytes > 0 && n_slots < 2)
    return invalid_argument(
        "kv_memory is {} bytes, expected at least {} bytes, so that two states of {} bytes fit",
        kv_memory, std::max(4 * slot_bytes, 2 * (slot_bytes + page_bytes)), slot_bytes);
  const size_t n_pages = (kv_memory - n_slots * slot_bytes) / page_bytes;
  if (n_pages > std::numeric_limits<kernel::PageId>::max())
    return invalid_argument("kv_memory is {} bytes, expected at most 2^32 pages of {} bytes",
                            kv_memory, page_bytes);
  if (n_pages == 0)
    return invalid_argument(
        "kv_memory is {} bytes, expected at least one page of {} bytes ({} positions)", kv_memory,
        page_bytes, shape.page_len);
  return {};
}

Result<std::string> CpuExecutor::isa_name(std::string_view isa) {
  const Result<const kernel::Kernels*> kernels = kernel::kernels_by_name(isa);
  if (!kernels) return kernels.error();
  return std::string((*kernels)->name);
}

CpuExecutor::CpuExecutor(const model::Weights& weights, ThreadPool& pool, const CpuOptions& options)
    : store_(options.hooks.store),
      poison_pages_(options.poison_pages),
      state_layout_(weights.config),
      states_(n_slots_in(options, state_layout_.slot_bytes(),
                         kv_shape_of(weights.config, options).page_bytes()) *
              state_layout_.slot_bytes()),
      memory_(kv_shape_of(weights.config, options),
              store_ != nullptr ? 0 : options.kv_memory - states_.size()),
      transformer_(weights, *kernel::kernels_by_name(options.isa).value(), pool,
                   {.context = options.context,
                    .attention = options.hooks.attention,
                    .all_rows = options.all_rows}) {
  const kernel::KvShape& shape = memory_.shape();
  facts_ = {.vocab = weights.config.vocab,
            .d_model = weights.config.d_model,
            .page_len = shape.page_len,
            .tile_len = shape.tile_len,
            .n_pages = (options.kv_memory - states_.size()) / shape.page_bytes(),
            .page_bytes = shape.page_bytes(),
            .n_slots = n_slots_in(options, state_layout_.slot_bytes(), shape.page_bytes()),
            .slot_bytes = state_layout_.slot_bytes(),
            .keeps_keys = !options.hooks.one_layer,
            .name = options.isa};
  facts_.kv_capacity = facts_.n_pages * static_cast<size_t>(shape.page_len);
  if (store_ == nullptr) return;
  facts_.n_pages = options.n_numbers;
  facts_.page_bytes = 0;
  options.hooks.store->open(shape, options.kv_memory);
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
    if (poison_pages_) poison(plan);
    hidden_ = transformer_.forward(plan, memory_.view(), {states_.as<float>()});
  } catch (...) {
    submitted_.clear();
    throw;
  }
}

const float* CpuExecutor::hidden(uint32_t first, uint32_t) {
  return hidden_ + size_t{first} * facts_.d_model;
}

void CpuExecutor::logits(uint32_t first, uint32_t n, float* out) {
  transformer_.logits(hidden(first, n), n, out);
}

// Pages are fresh that a copy goes to, or whose first position is written; slots are that are
// written.
void CpuExecutor::poison(const StepPlan& plan) const {
  const kernel::KvView view = memory_.view();
  const auto fill = [&](kernel::PageId page) {
    std::memset(view.page(page), 0xff, view.shape.page_bytes());
  };
  for (const kernel::PageCopy& copy : plan.copies) fill(copy.to);
  for (const kernel::KvSlot& slot : plan.slots)
    if (slot.offset == 0) fill(slot.page);
  for (const kernel::StateWrite& write : plan.state_writes)
    std::memset(states_.data() + write.to * facts_.slot_bytes, 0xff, facts_.slot_bytes);
}

}  // namespace pando::exec
