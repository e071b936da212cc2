// Prompts that do not fit the context are refused or cut here.
#pragma once

#include <string>

#include "ask/job.h"
#include "pando/batch.h"

namespace pando {

// Makes a job fit as `policy` says: its context is cut, or its own prompt; all questions about a
// context see the same, so that it stays shared. A context that is split asks each question of each
// part. The answer keeps max_tokens, or half of the `context` if that is less. `job.cut` says what
// was done. What cannot be cut enough, and every line with kError and kSkip, is left to the engine
// to refuse.
void fit(const Model& model, int context, TooLong policy, ask::Job& job);

// Message about a text that was cut to the limit of the model's files or of the request.
std::string cut_message(int n_prompt, int n_cut);

}  // namespace pando
