#include "exec/scalar/scalar_executor.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "exec/facts.h"

namespace pando::exec {

ScalarExecutor::ScalarExecutor(const scalar::Weights& weights, ThreadPool& pool,
                               const ExecutorOptions& options, const KvSizes& sizes)
    : facts_(facts_of(weights.spec, options, sizes)),
      poison_pages_(options.poison_pages),
      states_(sizes.n_slots * sizes.slot_bytes),
      memory_(std::span(sizes.pages), sizes.n_pages),
      windows_(std::span(sizes.windows), sizes.n_window_pages),
      texts_(sizes.n_pages, sizes.page_len, sizes.text_row_bytes),
      pass_(weights, options.kv, pool) {}

void ScalarExecutor::submit(StepPlan plan) {
  PANDO_CHECK(submitted_.size() < static_cast<size_t>(facts_.depth));
  submitted_.push_back(std::move(plan));
}

void ScalarExecutor::finish() {
  PANDO_CHECK(!submitted_.empty());
  const StepPlan plan = std::move(submitted_.front());
  submitted_.pop_front();
  try {
    compute(plan, {0, plan.n_rows()}, nullptr);
  } catch (...) {
    submitted_.clear();
    throw;
  }
}

const float* ScalarExecutor::compute(const StepPlan& plan, RowRange own, const float* before) {
  PANDO_CHECK(own.begin == 0 && own.end == plan.n_rows());
  if (poison_pages_) poison(plan);
  rows_ = plan.texts.empty() ? pass_.forward(plan, {memory_.views(), windows_.views()},
                                             {states_.as<float>()}, before)
                             : pass_.encode(plan, {memory_.views()}, texts_, before);
  return rows_.row(0);
}

// Fresh pages and slots. A slot is fresh if it is written, the pages of a text in its first step.
void ScalarExecutor::poison(const StepPlan& plan) const {
  const auto poison_all = [](const KvMemory& memory, std::span<const PageCopy> copies,
                             std::span<const KvSlot> slots) {
    for (const kernel::KvView& view : memory.views()) poison_pages(view, copies, slots);
  };
  if (plan.texts.empty()) {
    poison_all(memory_, plan.copies, plan.slots);
    poison_all(windows_, plan.windows.copies, plan.windows.slots);
  }
  for (const StateWrite& write : plan.state_writes)
    std::memset(states_.data() + write.to * facts_.slot_bytes, 0xff, facts_.slot_bytes);
  for (const TextPasses& text : plan.texts) {
    if (text.first_pass + text.first_row > 0) continue;
    const auto slots = std::span(plan.slots).subspan(text.row_begin, text.n_rows());
    poison_all(memory_, {}, slots);
    for (const KvSlot& slot : slots) std::memset(texts_.row(slot), 0xff, texts_.row_bytes());
  }
}

}  // namespace pando::exec
