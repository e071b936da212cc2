// How long steps take with this model on this machine: what EngineOptions::step_costs says.
#pragma once

#include "model/weights.h"
#include "pando/engine.h"
#include "schedule/predictor.h"

namespace pando {

struct MeasuredSteps {
  Predictor predictor;
  FitReport report;  // of the same steps: that of others is a little worse
};

// Runs chunks of prompts and decodes of many sizes, each three times, until all were run or
// `seconds` are over, small ones first. options: those of the engine it is for; policy and budget
// are not used. Errors: of opening it.
Result<MeasuredSteps> measure_steps(const model::Weights& weights, const EngineOptions& options,
                                    double seconds);

}  // namespace pando
