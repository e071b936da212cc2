// A step cut into steps of fewer rows.
#pragma once

#include <vector>

#include "step/step_plan.h"

namespace pando {

// Slices of n_rows rows at most. Carried out in order they do what the plan does: a row attends
// only to rows before it. The plan has no state tasks.
std::vector<StepPlan> slices_of(const StepPlan& plan, uint32_t n_rows);

}  // namespace pando
