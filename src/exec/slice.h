// A step cut into steps of fewer rows.
#pragma once

#include <span>
#include <vector>

#include "contract/step_plan.h"

namespace pando {

// State slots for slices that end inside a state task, besides those that plans name.
constexpr size_t kSpareSlots = 2;

// Slices of the plan with at most n_rows rows each. Carried out in order they give the plan's
// results: a row attends only to rows before it. spare: the first of kSpareSlots state slots.
std::vector<StepPlan> slices_of(const StepPlan& plan, uint32_t n_rows,
                                StateSlot spare = kNoStateSlot);

// The attention of some of the plan's rows, which ascend: their positions and tasks. The rows write
// nothing, and all of them are outputs.
StepPlan attention_of(const StepPlan& plan, std::span<const uint32_t> rows);

}  // namespace pando
