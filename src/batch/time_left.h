// How long the rest of a run may take.
#pragma once

#include <optional>

#include "pando/batch.h"

namespace pando {

// What was submitted to the engine so far.
struct SubmittedWork {
  uint64_t answers = 0;
  uint64_t most_tokens = 0;   // that these may have
  uint64_t answered = 0;      // of these; that is, completions
  double share_of_input = 0;  // whose questions are submitted, in [0, 1]
};

// Rows that were computed against those that are expected: of prompts what was new when they
// arrived, of answers the tokens of all for each that has ended, at most as many as they may have;
// all this for the rest of the input as for what was submitted. Nothing until something is
// computed, and where the input's size is not known.
std::optional<double> time_left(const BatchProgress& now, const SubmittedWork& submitted);

}  // namespace pando
