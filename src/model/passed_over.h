// Tensors of a checkpoint that are not read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/config.h"

namespace pando::model {

// A classifier on the last row of a model that also answers, in place of its LM head.
inline constexpr const char* kScore = "score.weight";

// Checks that no tensor is ignored silently: each must be one of the configuration's, be known to
// be redundant, or belong to a part that answers no text. Returns the names of those parts: "vision
// tower (12 tensors)". read_besides: tensors of a classifier's head.
Result<std::vector<std::string>> passed_over_parts(const ModelConfig& config,
                                                   const Checkpoint& checkpoint,
                                                   std::span<const std::string> read_besides = {});

}  // namespace pando::model
