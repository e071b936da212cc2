// What the engine gets for a question, without an engine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "batch/input_line.h"
#include "pando/engine.h"

namespace pando {

// The requests of a question as the engine takes them: their prompts are tokens. Errors: those with
// which an engine of these options refuses it, but for what its memory decides.
Result<std::vector<Request>> asked_of(const Model& model, const EngineOptions& options,
                                      const BatchLine& line, const BatchQuestion& question);

// The prompt as text: rendered where it is a conversation, decoded where it is tokens.
Result<std::string> prompt_text(const Model& model, const Request& request);

// The prompt of one of these: without what is scored behind it where the question has choices.
std::span<const Token> prompt_of(const BatchQuestion& question, const Request& asked);

}  // namespace pando
