// Llama 2 and Mistral: turns between [INST] and [/INST].
#include "base/errors.h"
#include "text/chat_render.h"

namespace pando {
namespace {

constexpr std::string_view kMustAlternate =
    "Conversation roles must alternate user/assistant/user/assistant/...";
constexpr std::string_view kMustAlternateAfterSystem =
    "After the optional system message, conversation roles must alternate "
    "user/assistant/user/assistant/...";
constexpr std::string_view kOtherRole = "Only user and assistant roles are supported!";
constexpr std::string_view kOtherRoleAfterSystem =
    "Only user and assistant roles are supported, with the exception of an initial optional system "
    "message!";

Error raised(std::string_view text) { return invalid_argument("{}", text); }

// Users at even places and nobody else there: what both families demand.
bool out_of_turn(const ChatMessage& message, size_t place) {
  return (message.role == "user") != (place % 2 == 0);
}

}  // namespace

Result<ChatRendering> render_llama2(const ChatInput& in) {
  const auto [system, rest] = split_system(in.messages);
  ChatRendering out;
  out.left_out = rest.empty() && has_text(*system);
  for (size_t i = 0; i < rest.size(); ++i) {
    if (out_of_turn(rest[i], i)) return raised(kMustAlternate);
    const std::string begin =
        i == 0 && system != nullptr ? "<<SYS>>\n" + system->content + "\n<</SYS>>\n\n" : "";
    const std::string content = begin + rest[i].content;
    if (rest[i].role == "user") {
      out.text.append(in.bos).append("[INST] ").append(trim_space(content)).append(" [/INST]");
    } else if (rest[i].role == "assistant") {
      out.text.append(" ").append(trim_space(content)).append(" ").append(in.eos);
    } else {
      out.left_out |= has_text(rest[i]);
    }
  }
  return out;
}

Result<ChatRendering> render_mistral(const ChatInput& in, const MistralForm& form) {
  const bool takes_system = form.system != MistralForm::System::kRefused;
  const std::string_view must_alternate = takes_system ? kMustAlternateAfterSystem : kMustAlternate;
  const auto [system, rest] =
      takes_system ? split_system(in.messages) : SplitSystem{nullptr, in.messages};
  if (form.checks_turns_first)
    for (size_t i = 0; i < rest.size(); ++i)
      if (out_of_turn(rest[i], i)) return raised(must_alternate);

  const bool goes_last = form.system == MistralForm::System::kLastTurn;
  ChatRendering out{std::string(in.bos)};
  out.left_out = system != nullptr && has_text(*system);
  for (size_t i = 0; i < rest.size(); ++i) {
    if (out_of_turn(rest[i], i)) return raised(must_alternate);
    if (rest[i].role == "user") {
      out.text.append(form.open);
      if (system != nullptr && i == (goes_last ? rest.size() - 1 : 0)) {
        out.text.append(system->content).append("\n\n");
        out.left_out = false;
      }
      out.text.append(rest[i].content).append(form.close);
    } else if (rest[i].role == "assistant") {
      const std::string_view content = rest[i].content;
      out.text.append(form.answer).append(form.trims_answer ? trim_space(content) : content);
      out.text.append(in.eos).append(form.answer_end);
    } else {
      return raised(takes_system ? kOtherRoleAfterSystem : kOtherRole);
    }
  }
  return out;
}

}  // namespace pando
