// Conversations: what a chat model is asked in, rendered to a prompt by the model's own template.
#pragma once

#include <string>

namespace pando {

// One turn of a conversation.
struct ChatMessage {
  std::string role;     // "system", "user" or "assistant"
  std::string content;  // UTF-8
};

// How a conversation is rendered.
struct ChatOptions {
  bool thinking = false;              // where the template can turn it on and off
  bool add_generation_prompt = true;  // ends with the beginning of the assistant's next message
  // Today's date, for templates that write it (Llama 3.1 and later); theirs where nothing is said.
  std::string date = "26 Jul 2024";
};

}  // namespace pando
