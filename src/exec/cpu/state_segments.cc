#include "exec/cpu/state_segments.h"

namespace pando::exec {

std::vector<StateSegment> state_segments(const StepPlan& plan) {
  std::vector<StateSegment> segments;
  auto write = plan.state_writes.begin();
  for (const kernel::StateTask& task : plan.state_tasks) {
    kernel::StateSlot from = task.from;
    for (uint32_t begin = task.row_begin; begin < task.row_end;) {
      const auto first = write;
      uint32_t end = task.row_end;
      if (first != plan.state_writes.end() && first->row < task.row_end) {
        end = first->row + 1;
        while (write != plan.state_writes.end() && write->row == first->row) ++write;
      }
      segments.push_back({begin, end, from, {first, write}});
      if (first != write) from = first->to;
      begin = end;
    }
  }
  return segments;
}

}  // namespace pando::exec
