// Llama 3 and later: a header with the role before every message.
#include "text/chat_render.h"

namespace pando {
namespace {

void append_header(std::string& text, std::string_view role) {
  text.append("<|start_header_id|>").append(role).append("<|end_header_id|>\n\n");
}

void append_message(std::string& text, const ChatMessage& message) {
  append_header(text, message.role);
  text.append(trim_space(message.content)).append("<|eot_id|>");
}

}  // namespace

Result<ChatRendering> render_llama3(const ChatInput& in, bool always_prompts) {
  ChatRendering out{std::string(in.bos)};
  for (const ChatMessage& message : in.messages) append_message(out.text, message);
  if (always_prompts || in.options.add_generation_prompt) append_header(out.text, "assistant");
  return out;
}

Result<ChatRendering> render_llama3_1(const ChatInput& in) {
  const auto [system, rest] = split_system(in.messages);
  ChatRendering out{std::string(in.bos)};
  append_header(out.text, "system");
  out.text.append("Cutting Knowledge Date: December 2023\nToday Date: ");
  out.text.append(in.options.date).append("\n\n");
  if (system != nullptr) out.text.append(trim_space(system->content));
  out.text.append("<|eot_id|>");
  for (const ChatMessage& message : rest) append_message(out.text, message);
  if (in.options.add_generation_prompt) append_header(out.text, "assistant");
  return out;
}

}  // namespace pando
