// The renderers of chat templates, one for each form of prompt. Each writes what the Jinja text of
// its templates writes, for messages of text with the roles system, user and assistant.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pando/chat.h"
#include "pando/result.h"

namespace pando {

struct ChatInput {
  std::span<const ChatMessage> messages;  // one or more
  const ChatOptions& options;
  std::string_view bos;  // texts of the tokens
  std::string_view eos;
};

struct ChatRendering {
  std::string text;
  bool left_out = false;  // a system message with a text has no place in it
};

// Where a template takes its system message from: the first message, if that is its role.
struct SplitSystem {
  const ChatMessage* system = nullptr;
  std::span<const ChatMessage> rest;
};
SplitSystem split_system(std::span<const ChatMessage> messages);

// Without the whitespace at both ends, as Python's str.strip() and Jinja's `trim` take it off.
std::string_view trim_space(std::string_view text);
inline bool has_text(const ChatMessage& message) { return !trim_space(message.content).empty(); }

// Errors are those that the template raises, in its words.

// [INST] ... [/INST]
Result<ChatRendering> render_llama2(const ChatInput& in);
struct MistralForm {
  enum class System { kRefused, kFirstTurn, kLastTurn };
  System system = System::kRefused;
  std::string_view open = "[INST] ";
  std::string_view close = " [/INST]";
  std::string_view answer;      // before the assistant's text
  std::string_view answer_end;  // after the eos behind it
  bool trims_answer = false;
  bool checks_turns_first = false;  // before it looks at anything else
};
Result<ChatRendering> render_mistral(const ChatInput& in, const MistralForm& form);

// <|start_header_id|>ROLE<|end_header_id|>
Result<ChatRendering> render_llama3(const ChatInput& in, bool always_prompts);
Result<ChatRendering> render_llama3_1(const ChatInput& in);

// <|im_start|>ROLE
Result<ChatRendering> render_qwen1_5(const ChatInput& in);
Result<ChatRendering> render_qwen2(const ChatInput& in, std::string_view default_system);
Result<ChatRendering> render_qwen2_5(const ChatInput& in);
enum class Qwen3Form { kSwitch, kInstruct, kThinking };
Result<ChatRendering> render_qwen3(const ChatInput& in, Qwen3Form form);

// <|ROLE|>
Result<ChatRendering> render_phi3(const ChatInput& in, bool skips_empty_system);
Result<ChatRendering> render_phi3_first(const ChatInput& in, bool writes_bos, bool takes_system);
Result<ChatRendering> render_phi4(const ChatInput& in);
Result<ChatRendering> render_phi4_first(const ChatInput& in);
Result<ChatRendering> render_phi4_mini(const ChatInput& in);
Result<ChatRendering> render_olmo2(const ChatInput& in, bool writes_bos);

// ROLE: ..., of generated models (text/byte_tokenizer.cc).
Result<ChatRendering> render_generated(const ChatInput& in);

}  // namespace pando
