// Answer as it is scored against references.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/scores.h"

namespace pando {

struct ScoredAnswer {
  size_t part = 0;  // of the document, that it is about
  std::string text;
  std::vector<double> choice_logprobs;  // [choices], where it is one of them
};

// Merges the answers about parts of a document. Choices: the one that is likeliest behind any part.
// Generated answers: the distinct texts, in the order of the parts, one per line.
ScoredAnswer merged(std::vector<ScoredAnswer> of_parts, std::span<const std::string> choices);

// Scores of the answer against the references. choices: the texts that the answer was chosen from;
// empty if it was generated.
Metrics metrics_of(const ScoredAnswer& answer, std::span<const std::string> choices,
                   std::span<const std::string> references);

}  // namespace pando
