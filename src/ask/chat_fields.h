// What of a body or a line is a conversation: messages, tools, documents, the template's variables.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "pando/values/chat.h"

namespace pando::ask {

// One thread. The JSON that fields were read from, where it is still there: in it objects have
// their keys in the order in which they were written, and templates write them in that order.
// Empty: by name.
class WrittenOrder {
 public:
  // The text must stay where it is until it is first asked for.
  explicit WrittenOrder(std::string_view text = {}) : text_(text) {}
  // `value`, which is field `name` of the text, or of its "body", as text.
  std::string of(const char* name, const nlohmann::json& value) const;
  // The same of each element of a list.
  std::vector<std::string> of_each(const char* name, const nlohmann::json& list) const;

 private:
  const nlohmann::ordered_json* find(const char* name) const;
  std::string_view text_;
  mutable std::optional<nlohmann::ordered_json> all_;  // the text, once it has been asked for
};

// True if the value is this text. The library's == allocates, and its exceptions end the process.
inline bool is_text(const nlohmann::json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

// [{"role", "content"}, ...] with what else templates read of a message. A content is a text or a
// list of {"type": "text", "text"}; the assistant's may be missing.
Result<std::vector<ChatMessage>> parse_messages(const nlohmann::json& messages,
                                                const WrittenOrder& order);

// "tools", "tool_choice", "documents", "add_generation_prompt", "continue_final_message" and
// "chat_template_kwargs", in which "enable_thinking" is `thinking` of the options too.
void read_chat_options(Fields& fields, const WrittenOrder& order, ChatOptions& out);

}  // namespace pando::ask
