// Measures how long steps take with a model on this machine, for EngineOptions::step_costs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "pando/engine.h"
#include "pando/values/step_costs.h"

namespace pando {

// Runs chunks of prompts and decodes of many sizes, small ones first: each once if it can end in
// time, then each twice more until `seconds` are over. Goes on for up to kMostTimes as long until
// kFewestRepeats were run. options: of the engine that uses the costs; policy and budget have no
// effect. between: called before each step, so that other engines may compute; its time does not
// count. Errors: as Engine::open.
Result<MeasuredSteps> measure_steps(const Model& model, const EngineOptions& options,
                                    double seconds, const std::function<void()>& between = {});

// Reads measured steps from a file of `folder`: one for each model, machine and set of options that
// matter. If there is no file, or its measurement was disturbed, calls `before`, measures, and
// writes the file if it can.
Result<MeasuredSteps> saved_steps(const std::filesystem::path& folder, const Model& model,
                                  const EngineOptions& options, double seconds,
                                  const std::function<void()>& before = {},
                                  const std::function<void()>& between = {});

// Predicted seconds of a step, by MeasuredSteps::costs. Errors: kBadFile.
Result<double> predicted_seconds(const std::string& costs, const StepWork& work);

}  // namespace pando
