// One piece of a step's recurrences, as a plain value.
#pragma once

#include <cstdint>

#include "kernel/state_layout.h"

namespace pando::kernel {

// Rows [row_begin, row_end) of a step, at consecutive positions of one path. They go on from the
// state in slot `from`; kNoStateSlot: the path begins here. A slot may be one that an earlier task
// of the step writes.
struct StateTask {
  uint32_t row_begin;
  uint32_t row_end;
  StateSlot from;
  bool operator==(const StateTask&) const = default;
};

// The state after row `row` goes to slot `to`. No earlier task of the step reads that slot.
struct StateWrite {
  uint32_t row;
  StateSlot to;
  bool operator==(const StateWrite&) const = default;
};

}  // namespace pando::kernel
