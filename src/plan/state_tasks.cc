#include "plan/state_tasks.h"

#include <algorithm>

#include "base/check.h"
#include "base/fault.h"

namespace pando {
namespace {

// Writes of rows [begin, end) get the state behind the next row, where no other write has that row.
void delay_writes(std::vector<StateWrite>& writes, uint32_t begin, uint32_t end) {
  uint32_t last = end - 1;
  for (auto write = writes.rbegin(); write != writes.rend() && write->row >= begin; ++write) {
    write->row = std::min(write->row + 1, last);
    last = write->row - 1;
  }
}

}  // namespace

void append_state_tasks(RowLayout& layout, const Places& places) {
  StepPlan& plan = layout.step.plan;
  const std::vector<uint32_t>& positions = plan.positions;
  for (const RowRun& run : layout.runs) {
    for (uint32_t row = run.row_begin, end = row; row < run.row_end; row = end) {
      while (++end < run.row_end && positions[end] == positions[end - 1] + 1) {
      }
      const uint32_t begins_at = positions[row], ends_at = positions[end - 1] + 1;
      const Place* from = begins_at == 0 ? nullptr : places.find(run.node, begins_at);
      if (begins_at > 0 && from == nullptr) {  // the one path through the parent's last row
        PANDO_CHECK(row == run.row_begin && run.continues_previous &&
                    positions[row - 1] + 1 == begins_at);
        plan.state_tasks.back().row_end = end;
      } else {
        plan.state_tasks.push_back({row, end, from == nullptr ? kNoStateSlot : from->slot});
        if (fault_on(Fault::kStateOfSibling) && from != nullptr && !plan.state_writes.empty())
          plan.state_tasks.back().from = plan.state_writes.back().to;
      }
      for (const Place* to = run.node->places; to != nullptr; to = to->next)
        if (!to->submitted && begins_at < to->position && to->position <= ends_at)
          plan.state_writes.push_back({row + to->position - begins_at - 1, to->slot});
      if (fault_on(Fault::kStateOneTokenLate)) delay_writes(plan.state_writes, row, end);
    }
  }
}

}  // namespace pando
