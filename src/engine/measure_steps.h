// Steps that are run to find out how long they take.
#pragma once

#include <functional>
#include <memory>

#include "engine/engine_loop.h"
#include "pando/values/step_costs.h"

namespace pando {

// Opens a loop of the engine that is measured, with other options.
using OpenLoop = std::function<Result<std::unique_ptr<EngineLoop>>(const LoopOptions& options)>;

// As for a Model (pando/step_costs.h).
Result<MeasuredSteps> measure_steps(const OpenLoop& open, const EngineOptions& options,
                                    double seconds, const std::function<void()>& between = {});

}  // namespace pando
