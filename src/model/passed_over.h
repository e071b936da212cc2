// Tensors of a checkpoint that are not read.
#pragma once

#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/config.h"

namespace pando::model {

// A tensor that nobody reads would silently be another model: each must be one of the
// configuration's, be known to say nothing new, or belong to a part that answers no text. Returns
// the names of those parts: "vision tower (12 tensors)".
Result<std::vector<std::string>> passed_over_parts(const ModelConfig& config,
                                                   const Checkpoint& checkpoint);

}  // namespace pando::model
