// Translates items of /v1/responses into messages of a chat.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "ask/door_fields.h"
#include "base/fields.h"
#include "base/json.h"

namespace pando::ask {

// The member of an object if it is a text; otherwise an empty text.
std::string text_member(const Json& object, const char* name);

// Adds messages to a draft. Consecutive items of the assistant become one message: reasoning, then
// a text, then calls.
class ItemMessages {
 public:
  explicit ItemMessages(ChatDraft& draft);

  void add_instructions(const std::string& text);
  // type: "message", "function_call", "function_call_output" or "reasoning". The item's place in
  // the body is `origin`. kInvalidArgument names field, found and expected.
  Status add(const Json& item, const std::string& type, const std::string& origin);

 private:
  Json& messages() { return draft_.chat["messages"]; }
  std::string last_place();
  void add_message(Json message, const std::string& origin);
  // The assistant's message to extend. A new message if the last one has a `later` field already.
  Json& assistant(std::initializer_list<std::string_view> later, const std::string& origin);

  void add_text(Fields& item, const std::string& origin);
  void add_call(Fields& item, const std::string& origin);
  void add_output(Fields& item, const std::string& origin);
  void add_reasoning(Fields& item, const std::string& origin);

  ChatDraft& draft_;
  bool assistant_ = false;  // the last message is the assistant's and may be extended
};

}  // namespace pando::ask
