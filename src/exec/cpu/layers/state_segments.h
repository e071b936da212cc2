// The recurrences of a step, cut where a state is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/pages.h"
#include "contract/step_plan.h"

namespace pando::exec {

// Rows [begin, end) go on from the state in slot `from`, and the state behind them goes to slot
// `to`. kNoStateSlot: nothing goes on from it in this step or later.
struct StateSegment {
  uint32_t begin, end;
  StateSlot from, to;
  bool operator==(const StateSegment&) const = default;
};

// The plan's tasks in order, each cut behind the rows whose states are written. A piece of a task
// reads the slot that the piece before it writes.
std::vector<StateSegment> state_segments(const StepPlan& plan);

}  // namespace pando::exec
