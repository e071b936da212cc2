// Weights that would be much faster on this machine, and their price.
#pragma once

#include <string>

#include "pando/model.h"

namespace pando::cli {

// One sentence about weights that read prompts at least twice as fast as the model's, as far as
// docs/figures and docs/quality.md have measured it; empty: there are none. isa: of the engine.
std::string faster_types(const ModelInfo& model, const std::string& isa);

}  // namespace pando::cli
