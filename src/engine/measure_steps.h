// Steps that are run to find out how long they take.
#pragma once

#include "model/weights.h"
#include "pando/step_costs.h"

namespace pando {

// As for a Model (step_costs.h).
Result<MeasuredSteps> measure_steps(const model::Weights& weights, const EngineOptions& options,
                                    double seconds);

}  // namespace pando
