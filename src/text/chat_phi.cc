// Phi, OLMo 2 and generated models: the role itself is the tag.
#include "text/chat_render.h"

namespace pando {
namespace {

constexpr std::string_view kEnd = "<|end|>";

}  // namespace

Result<ChatRendering> render_phi3(const ChatInput& in, bool skips_empty_system) {
  ChatRendering out;
  for (const auto& [role, content] : in.messages) {
    if (skips_empty_system && role == "system" && content.empty()) continue;
    out.text.append("<|").append(role).append("|>\n").append(content).append(kEnd).append("\n");
  }
  out.text.append(in.options.add_generation_prompt ? "<|assistant|>\n" : in.eos);
  return out;
}

// A user's message already begins the assistant's.
Result<ChatRendering> render_phi3_first(const ChatInput& in, bool writes_bos, bool takes_system) {
  ChatRendering out{std::string(writes_bos ? in.bos : "")};
  for (const ChatMessage& message : in.messages) {
    const bool is_system = message.role == "system";
    if (is_system && !takes_system) {
      out.left_out |= has_text(message);
      continue;
    }
    if (is_system) out.text.append("<|system|>\n");
    if (message.role == "user") out.text.append("<|user|>\n");
    out.text.append(message.content).append(kEnd).append("\n");
    if (message.role == "user") out.text.append("<|assistant|>\n");
  }
  return out;
}

Result<ChatRendering> render_phi4(const ChatInput& in) {
  ChatRendering out;
  for (const auto& [role, content] : in.messages)
    out.text.append("<|im_start|>" + role + "<|im_sep|>").append(content).append("<|im_end|>");
  if (in.options.add_generation_prompt) out.text.append("<|im_start|>assistant<|im_sep|>");
  return out;
}

// A user's message already begins the assistant's.
Result<ChatRendering> render_phi4_first(const ChatInput& in) {
  ChatRendering out;
  for (const auto& [role, content] : in.messages) {
    if (role != "assistant") out.text.append("<|im_start|>" + role + "<|im_sep|>");
    out.text.append(content).append("<|im_end|>");
    if (role == "user") out.text.append("<|im_start|>assistant<|im_sep|>");
  }
  return out;
}

Result<ChatRendering> render_phi4_mini(const ChatInput& in) {
  ChatRendering out;
  for (const auto& [role, content] : in.messages)
    out.text.append("<|").append(role).append("|>").append(content).append(kEnd);
  out.text.append(in.options.add_generation_prompt ? "<|assistant|>" : in.eos);
  return out;
}

Result<ChatRendering> render_olmo2(const ChatInput& in, bool writes_bos) {
  ChatRendering out{std::string(writes_bos ? in.bos : "")};
  for (const ChatMessage& message : in.messages) {
    const bool is_assistant = message.role == "assistant";
    const bool is_last = &message == &in.messages.back();
    out.text.append("<|").append(message.role).append("|>\n").append(message.content);
    if (is_assistant) out.text.append(in.eos);
    if (!is_assistant || !is_last) out.text.append("\n");
  }
  if (in.options.add_generation_prompt) out.text.append("<|assistant|>\n");
  return out;
}

Result<ChatRendering> render_generated(const ChatInput& in) {
  ChatRendering out;
  for (const auto& [role, content] : in.messages)
    out.text.append(role).append(": ").append(content).append("\n");
  if (!in.options.add_generation_prompt) return out;
  out.text.append("assistant:").append(in.options.thinking ? " (thinking)" : "");
  return out;
}

}  // namespace pando
