// Qwen: ChatML, and the thoughts of Qwen3.
#include <algorithm>

#include "text/chat_render.h"

namespace pando {
namespace {

void append_begin(std::string& text, std::string_view role) {
  text.append("<|im_start|>").append(role).append("\n");
}

void append_message(std::string& text, std::string_view role, std::string_view content) {
  append_begin(text, role);
  text.append(content).append("<|im_end|>\n");
}

std::string_view without_leading_newlines(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}
std::string_view without_trailing_newlines(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// An assistant's text as `<think>` and `</think>` divide it.
struct Thoughts {
  std::string_view reasoning;
  std::string_view answer;
};

Thoughts divide(std::string_view content) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const size_t first_close = content.find(kClose);
  if (first_close == content.npos) return {"", content};
  std::string_view reasoning = without_trailing_newlines(content.substr(0, first_close));
  if (const size_t open = reasoning.rfind(kOpen); open != reasoning.npos)
    reasoning = reasoning.substr(open + kOpen.size());
  return {without_leading_newlines(reasoning),
          without_leading_newlines(content.substr(content.rfind(kClose) + kClose.size()))};
}

// The index of the last message that a user wrote, tool responses aside; thoughts after it are
// kept.
size_t last_query(std::span<const ChatMessage> messages) {
  for (size_t i = messages.size(); i-- > 0;) {
    const std::string_view content = messages[i].content;
    const bool is_tool_response =
        content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
    if (messages[i].role == "user" && !is_tool_response) return i;
  }
  return messages.size() - 1;
}

void append_answer(std::string& text, std::string_view content, bool keeps_thoughts, bool is_last) {
  const auto [reasoning, answer] = divide(content);
  append_begin(text, "assistant");
  if (keeps_thoughts && (is_last || !reasoning.empty())) {
    text.append("<think>\n").append(without_trailing_newlines(reasoning)).append("\n</think>\n\n");
    text.append(without_leading_newlines(answer));
  } else {
    text.append(answer);
  }
  text.append("<|im_end|>\n");
}

}  // namespace

Result<ChatRendering> render_qwen1_5(const ChatInput& in) {
  constexpr std::string_view kDefaultSystem = "You are a helpful assistant";
  const bool prompts = in.options.add_generation_prompt;
  ChatRendering out;
  if (in.messages.front().role != "system") append_message(out.text, "system", kDefaultSystem);
  for (const ChatMessage& message : in.messages) {
    append_begin(out.text, message.role);
    out.text.append(message.content);
    if (prompts || &message != &in.messages.back()) out.text.append("<|im_end|>\n");
  }
  if (prompts && in.messages.back().role != "assistant") append_begin(out.text, "assistant");
  return out;
}

Result<ChatRendering> render_qwen2(const ChatInput& in, std::string_view default_system) {
  ChatRendering out;
  if (in.messages.front().role != "system") append_message(out.text, "system", default_system);
  for (const ChatMessage& message : in.messages)
    append_message(out.text, message.role, message.content);
  if (in.options.add_generation_prompt) append_begin(out.text, "assistant");
  return out;
}

Result<ChatRendering> render_qwen2_5(const ChatInput& in) {
  return render_qwen2(in, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
}

Result<ChatRendering> render_qwen3(const ChatInput& in, Qwen3Form form) {
  const size_t query = last_query(in.messages);
  ChatRendering out;
  for (size_t i = 0; i < in.messages.size(); ++i) {
    const ChatMessage& message = in.messages[i];
    if (message.role == "assistant" && form != Qwen3Form::kInstruct) {
      append_answer(out.text, message.content, i > query, i + 1 == in.messages.size());
    } else {
      append_message(out.text, message.role, message.content);
    }
  }
  if (!in.options.add_generation_prompt) return out;
  append_begin(out.text, "assistant");
  if (form == Qwen3Form::kThinking) out.text.append("<think>\n");
  if (form == Qwen3Form::kSwitch && !in.options.thinking)
    out.text.append("<think>\n\n</think>\n\n");
  return out;
}

}  // namespace pando
