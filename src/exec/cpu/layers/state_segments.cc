#include "exec/cpu/layers/state_segments.h"

namespace pando::exec {

std::vector<StateSegment> state_segments(const StepPlan& plan) {
  std::vector<StateSegment> segments;
  auto write = plan.state_writes.begin();
  for (const StateTask& task : plan.state_tasks) {
    StateSlot from = task.from;
    for (uint32_t begin = task.row_begin; begin < task.row_end;) {
      StateSegment segment{begin, task.row_end, from, kNoStateSlot};
      if (write != plan.state_writes.end() && write->row < task.row_end) {
        segment.end = write->row + 1;
        segment.to = write->to;
        ++write;
      }
      segments.push_back(segment);
      from = segment.to;
      begin = segment.end;
    }
  }
  return segments;
}

}  // namespace pando::exec
