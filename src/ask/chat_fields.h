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
// the role "function" become those of tools.
Result<std::vector<ChatMessage>> read_messages(const Json& messages);

// "tools", "tool_choice", "parallel_tool_calls", "documents", "add_generation_prompt",
// "continue_final_message" and "chat_template_kwargs", in which "enable_thinking" is `thinking` of
// the options too.
void read_chat_options(Fields& fields, ChatOptions& out, CallOptions& calling);

}  // namespace pando::ask
