// How long steps take with a model on this machine: what EngineOptions::step_costs says.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "pando/engine.h"
#include "pando/values/step_costs.h"

namespace pando {

// Runs chunks of prompts and decodes of many sizes, small ones first: each once where it can end in
// time, then each twice more until `seconds` are over; up to kMostTimes as long until
// kFewestRepeats were run. options: those of the engine it is for; policy and budget are not used.
// Errors: those of Engine::open.
Result<MeasuredSteps> measure_steps(const Model& model, const EngineOptions& options,
                                    double seconds);

// The same, kept in a file of `folder`, if it can be written, for each model, machine and options
// that matter; measured where there is none, or one that was disturbed, and `before` is called
// first.
Result<MeasuredSteps> saved_steps(const std::filesystem::path& folder, const Model& model,
                                  const EngineOptions& options, double seconds,
                                  const std::function<void()>& before = {});

// Seconds that such a step takes by MeasuredSteps::costs. kBadFile.
Result<double> predicted_seconds(const std::string& costs, const StepWork& work);

}  // namespace pando
