// Reads the conversation of a body or a line: messages, tools, documents, variables of the
// template.
#pragma once

#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "pando/values/request.h"

namespace pando::ask {

// [{"role", "content"}, ...] with what else templates read of a message. A content is a text or a
// list of {"type": "text", "text"}; the assistant's may be missing. The older "function_call" and
// the role "function" become "tool_calls" and the role "tool".
Result<std::vector<ChatMessage>> read_messages(const Json& messages);

// "tools", "tool_choice", "parallel_tool_calls", "documents", "add_generation_prompt",
// "continue_final_message" and "chat_template_kwargs". Its "enable_thinking" also sets
// ChatOptions::thinking.
void read_chat_options(Fields& fields, ChatOptions& out, CallOptions& calling);

}  // namespace pando::ask
