// A step plan as bytes, to be sent to another process.
//
// Words of 32 bits, little-endian: "PLAN", version 1, the number of sections; then for each section
// its id, its number of words and the words. A section is one list of the plan; an empty list has
// no section. Each list that is added to plans (groups of pages, adapters of rows, visibility) gets
// a section of its own. A reader refuses a section that it does not know.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "contract/step_plan.h"
#include "pando/values/result.h"

namespace pando {

// Throws std::bad_alloc.
std::vector<std::byte> to_bytes(const StepPlan& plan);

// Errors: kInvalidArgument for bytes that to_bytes did not write, and for a plan that is not sound:
// a list has the wrong length for the plan's rows, or an index points behind the end of a list.
// Numbers of pages, state slots, tokens and positions are not checked: only an executor knows how
// many there are. The plans of a technique whose attention has rows of its own are not sound here.
Result<StepPlan> step_plan_from_bytes(std::span<const std::byte> bytes);

}  // namespace pando
