#include "exec/slice.h"

#include <algorithm>

#include "base/check.h"
#include "base/fault.h"

namespace pando {
namespace {

// The lists of slots of rows [begin, end).
void cut_slots(const std::vector<uint32_t>& slot_begin, const std::vector<KvSlot>& slots,
               uint32_t begin, uint32_t end, std::vector<uint32_t>& out_begin,
               std::vector<KvSlot>& out) {
  const uint32_t first = slot_begin[begin];
  for (uint32_t row = begin; row <= end; ++row) out_begin.push_back(slot_begin[row] - first);
  out.assign(slots.begin() + first, slots.begin() + slot_begin[end]);
}

StepPlan slice(const StepPlan& plan, uint32_t begin, uint32_t end) {
  StepPlan cut;
  cut.tokens.assign(plan.tokens.begin() + begin, plan.tokens.begin() + end);
  cut.positions.assign(plan.positions.begin() + begin, plan.positions.begin() + end);
  cut_slots(plan.slot_begin, plan.slots, begin, end, cut.slot_begin, cut.slots);
  const WindowLists& windows = plan.windows;
  if (!windows.slot_begin.empty())
    cut_slots(windows.slot_begin, windows.slots, begin, end, cut.windows.slot_begin,
              cut.windows.slots);
  if (begin == 0 && !fault_on(Fault::kCopyLostInSlices)) {
    cut.copies = plan.copies;
    cut.windows.copies = windows.copies;
  }
  for (AttentionTask task : plan.tasks) {
    if (task.row_end <= begin || task.row_begin >= end) continue;
    const auto pages = [&](const std::vector<PageId>& from) {
      const auto first = from.begin() + task.first_page;
      return std::pair(first, first + task.n_pages);
    };
    const auto [first, last] = pages(plan.task_pages);
    const auto at = static_cast<uint32_t>(cut.task_pages.size());
    cut.task_pages.insert(cut.task_pages.end(), first, last);
    if (!windows.task_pages.empty()) {
      const auto [first_window, last_window] = pages(windows.task_pages);
      cut.windows.task_pages.insert(cut.windows.task_pages.end(), first_window, last_window);
    }
    task.first_page = at;
    task.row_begin = std::max(task.row_begin, begin) - begin;
    task.row_end = std::min(task.row_end, end) - begin;
    cut.tasks.push_back(task);
  }
  const auto cut_rows = [&](const std::vector<uint32_t>& rows, std::vector<uint32_t>& out) {
    for (const uint32_t row : rows)
      if (row >= begin && row < end) out.push_back(row - begin);
  };
  cut_rows(plan.outputs, cut.outputs);
  cut_rows(plan.hidden_only, cut.hidden_only);
  return cut;
}

// Cuts the state tasks of rows [begin, end) out of the plan. `open`: the slot with the state behind
// row `begin` - 1, if its task goes on; afterwards that behind row `end` - 1, for which `spare` may
// be used.
void cut_states(const StepPlan& plan, uint32_t begin, uint32_t end, StateSlot spare,
                StateSlot& open, StepPlan& cut) {
  for (const StateWrite& write : plan.state_writes)
    if (write.row >= begin && write.row < end)
      cut.state_writes.push_back({write.row - begin, write.to});
  bool goes_on = false;
  for (const StateTask& task : plan.state_tasks) {
    if (task.row_end <= begin || task.row_begin >= end) continue;
    const StateSlot from = task.row_begin < begin ? open : task.from;
    cut.state_tasks.push_back(
        {std::max(task.row_begin, begin) - begin, std::min(task.row_end, end) - begin, from});
    goes_on = task.row_end > end;
  }
  if (!goes_on) return;
  const uint32_t last = end - begin - 1;
  if (cut.state_writes.empty() || cut.state_writes.back().row != last)
    cut.state_writes.push_back({last, spare});
  open = cut.state_writes.back().to;
  if (fault_on(Fault::kStateLostInSlices)) open = kNoStateSlot;
}

}  // namespace

std::vector<StepPlan> slices_of(const StepPlan& plan, uint32_t n_rows, StateSlot spare) {
  PANDO_CHECK(n_rows > 0 && (plan.state_tasks.empty() || spare != kNoStateSlot));
  if (plan.n_rows() <= n_rows) return {plan};
  std::vector<StepPlan> slices;
  StateSlot open = kNoStateSlot;
  for (uint32_t row = 0; row < plan.n_rows(); row += n_rows) {
    const uint32_t end = std::min(row + n_rows, plan.n_rows());
    slices.push_back(slice(plan, row, end));
    // A slice may read one of them and write the other.
    const auto of_slice = static_cast<StateSlot>(spare + slices.size() % kSpareSlots);
    cut_states(plan, row, end, of_slice, open, slices.back());
  }
  return slices;
}

StepPlan attention_of(const StepPlan& plan, std::span<const uint32_t> rows) {
  StepPlan few;
  for (const uint32_t row : rows) {
    few.outputs.push_back(few.n_rows());
    few.tokens.push_back(plan.tokens[row]);
    few.positions.push_back(plan.positions[row]);
  }
  few.slot_begin.assign(rows.size() + 1, 0);
  few.task_pages = plan.task_pages;
  if (!plan.windows.slot_begin.empty()) few.windows.slot_begin = few.slot_begin;
  few.windows.task_pages = plan.windows.task_pages;
  for (AttentionTask task : plan.tasks) {
    const auto place = [&](uint32_t row) {
      return static_cast<uint32_t>(std::ranges::lower_bound(rows, row) - rows.begin());
    };
    task.row_begin = place(task.row_begin);
    task.row_end = place(task.row_end);
    if (task.row_begin < task.row_end) few.tasks.push_back(task);
  }
  return few;
}

}  // namespace pando
