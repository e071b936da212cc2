// Conversations with chat models, rendered to prompts by the model's own template.
#pragma once

#include <optional>
#include <string>

#include "pando/values/json_value.h"

namespace pando {

// One turn of a conversation.
struct ChatMessage {
  std::string role;     // "system", "user", "assistant", "tool" or what else the template takes
  std::string content;  // UTF-8
  // Whatever else a template may read of the message, an object: "tool_calls", "name",
  // "tool_call_id", "reasoning_content", ... A "content" in it is used instead of the one above: a
  // list of parts, or null. Null: nothing more.
  JsonValue fields = {};
};

// A time of day as a clock on the wall shows it.
struct LocalTime {
  int year = 1970;  // of the calendar
  int month = 1;    // 1 to 12
  int day = 1;      // 1 to 31
  int hour = 0;     // 0 to 23
  int minute = 0;   // 0 to 59
  int second = 0;   // 0 to 59
};

// Options of rendering a conversation.
struct ChatOptions {
  bool thinking = false;              // `enable_thinking` and `thinking` of the template
  bool add_generation_prompt = true;  // ends with the beginning of the assistant's next message
  // Ends with the text of the last message, without what closes it, so that an answer goes on with
  // it. Goes without add_generation_prompt.
  bool continue_final_message = false;
  JsonValue tools = {};      // a list of tools, as the template reads them; null: none
  JsonValue documents = {};  // a list of documents; null: none
  // An object of further variables of the template; they go before all others of their names.
  JsonValue template_kwargs = {};
  // The time that the template takes for now. Absent: midnight of the day on which the model was
  // loaded, so that equal requests give equal prompts.
  std::optional<LocalTime> now = std::nullopt;
};

}  // namespace pando
