// Whole answers of the OpenAI API, and the parts that its streams share with them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ask/envelope.h"
#include "ask/openai_request.h"
#include "base/json.h"
#include "pando/model.h"

namespace pando::ask {

// Messages and streams have this field, as in DeepSeek's API, vLLM and llama-server.
inline constexpr const char* kReasoningField = "reasoning_content";

Json head(const AnswerForm& form, const Envelope& envelope, bool chunk);
// "stop", "tool_calls", "function_call" or "length".
const char* finish_reason(const AnswerForm& form, const Completion& completion);
// Calls as a message has them.
Json tool_calls(std::span<const ToolCall> calls);
// A call as a message of the older form has it.
Json function_call(const ToolCall& call);
// The prompt as "echo" repeats it.
std::string echoed_prompt(const Request& request, const Model& model);

// The body of an answer; completions: [requests][n]. Without `cached` no token of it depends on
// what was asked before.
Json response_body(const AnswerForm& form, const Envelope& envelope,
                   std::span<const Request* const> requests,
                   std::span<const std::vector<Completion>> completions, const Model& model,
                   bool cached);

}  // namespace pando::ask
