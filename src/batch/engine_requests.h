// The requests that the engine gets for a question, made without an engine.
#pragma once

#include <span>
#include <vector>

#include "ask/job.h"
#include "pando/engine.h"

namespace pando {

// The requests of a question as the engine takes them: their prompts are tokens. Errors: those with
// which an engine of these options refuses it, but for what its memory decides.
Result<std::vector<Request>> engine_requests(const Model& model, const EngineOptions& options,
                                             const ask::Job& job, const ask::Question& question);

// The prompt of one of these: without what is scored behind it where the question has choices.
std::span<const Token> prompt_of(const ask::Question& question, const Request& request);

}  // namespace pando
