// A step plan as bytes, to be sent to another process.
//
// Words of 32 bits, little-endian: "PLAN", version 1, the number of sections; then for each section
// its id, its number of words and the words. A section is one list of the plan. Lists that are
// empty have none. What later plans hold besides (tasks of recurrent states, groups of pages,
// adapters of rows, visibility) gets sections of its own; a reader refuses those that it does not
// know.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pando/result.h"
#include "step/step_plan.h"

namespace pando {

// Throws std::bad_alloc.
std::vector<std::byte> to_bytes(const StepPlan& plan);

// Errors: kInvalidArgument for bytes that to_bytes did not write, or whose plan is not sound: lists
// of other lengths than its rows ask for, or indices beyond them. Pages, tokens and positions are
// for the executor to check, which knows how many there are.
Result<StepPlan> step_plan_from_bytes(std::span<const std::byte> bytes);

}  // namespace pando
