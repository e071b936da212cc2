// Rerankers as llama.cpp converts them: a matrix with the rows of the LM head for the answers.
#pragma once

#include <string_view>

#include "model/checkpoint.h"
#include "model/config.h"

namespace pando::model {

inline constexpr std::string_view kClassifier = "cls.output.weight";

// Checks that the rows of a GGUF file's classifier are those of the model's own LM head for its
// labels, but for rounding: then it says nothing new. kUnsupported if they are not, as in a file
// that has the classifier instead of the head.
Status check_classifier(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace pando::model
