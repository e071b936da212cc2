#include "text/calls/call_trials.h"

#include <utility>

#include "base/json_value.h"

namespace pando::calls {
namespace {

// The only place that knows how a message holds calls and reasoning.
ChatMessage message_of(const TrialAnswer& answer, ReasoningForm form) {
  CallJson fields = CallJson::object();
  if (answer.text.empty() && !answer.calls.empty()) fields["content"] = nullptr;
  if (!answer.reasoning.empty()) switch (form) {
      case ReasoningForm::kFields:
        for (const char* name : {"reasoning_content", "reasoning", "tool_plan"})
          fields[name] = answer.reasoning;
        break;
      case ReasoningForm::kParts:
        fields["content"] = {{{"type", "thinking"}, {"thinking", answer.reasoning}},
                             {{"type", "text"}, {"text", answer.text}}};
        break;
      case ReasoningForm::kBlocks:
        fields["content"]["blocks"] = {{{"type", "thoughts"}, {"text", answer.reasoning}},
                                       {{"type", "response"}, {"text", answer.text}}};
        break;
    }
  for (const TrialCall& call : answer.calls)
    fields["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return {"assistant", answer.text, json_value(fields)};
}

// Null of an empty text.
JsonValue value_of(std::string_view json) {
  return json.empty() ? JsonValue() : JsonValue::parse(json).value();
}

}  // namespace

Trials::Trials(const ChatTemplate& chat, std::string_view tools) : chat_(chat) {
  // Some templates refuse these tools, or all, or take them as a text of their own.
  const CallJson own = {{"functions", tools}, {"datetime", "2026-11-25"}};
  const std::pair<std::string_view, std::string> options[] = {
      {tools, ""}, {kTrialTools, ""}, {"", ""}, {tools, own.dump()}, {"", own.dump()}};
  for (const auto& [list, kwargs] : options) {
    if (!list.empty() && !chat.reads_tools()) continue;
    options_.tools = value_of(list);
    options_.template_kwargs = value_of(kwargs);
    for (const bool thinking : {true, false}) {
      has_switch_ = thinking;
      if (!prompt(thinking).empty()) return;
    }
  }
}

std::optional<std::string> Trials::conversation(const TrialAnswer& answer,
                                                ReasoningForm form) const {
  ChatOptions options = options_;
  options.add_generation_prompt = false;
  options.thinking = has_switch_;
  const std::vector<ChatMessage> messages = {{"user", std::string(kQuestion)},
                                             message_of(answer, form)};
  Result<std::string> text = chat_.render(messages, options);
  if (!text) return std::nullopt;
  return *std::move(text);
}

std::string Trials::prompt(bool thinking) const {
  ChatOptions options = options_;
  options.thinking = thinking;
  const std::vector<ChatMessage> messages = {{"user", std::string(kQuestion)}};
  const Result<std::string> text = chat_.render(messages, options);
  return text ? *text : std::string();
}

}  // namespace pando::calls
