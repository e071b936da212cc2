// The recurrences of a step, cut where a state is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/state_task.h"
#include "step/step_plan.h"

namespace pando::exec {

// Rows [begin, end) go on from the state in slot `from`, and the state behind them goes to the
// slots of `writes`; to none where nothing goes on from it in this step or later.
struct StateSegment {
  uint32_t begin, end;
  kernel::StateSlot from;
  std::span<const kernel::StateWrite> writes;
};

// The plan's tasks in order, each cut behind the rows whose states are written. The first slot that
// a piece writes is what the next one reads.
std::vector<StateSegment> state_segments(const StepPlan& plan);

}  // namespace pando::exec
