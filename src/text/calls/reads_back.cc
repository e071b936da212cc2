// Trial answers that a template renders must parse back to themselves.
#include <algorithm>
#include <span>

#include "text/calls/learn_calls.h"
#include "text/calls/scan.h"

namespace pando::calls {
namespace {

TrialAnswer answer_of(std::span<const AnswerEvent> events) {
  TrialAnswer out;
  std::string arguments;
  for (const AnswerEvent& event : events) {
    switch (event.kind) {
      case AnswerEvent::Kind::kText:
        out.text += event.bytes;
        break;
      case AnswerEvent::Kind::kReasoning:
        out.reasoning += event.bytes;
        break;
      case AnswerEvent::Kind::kCallBegin:
        out.calls.push_back({event.bytes, {}, event.id});
        arguments.clear();
        break;
      case AnswerEvent::Kind::kArguments:
        arguments += event.bytes;
        break;
      case AnswerEvent::Kind::kCallEnd:
        if (std::optional<CallJson> value = parse_value(arguments))
          out.calls.back().arguments = *std::move(value);
        break;
    }
  }
  return out;
}

TrialCall call_of(size_t index, std::string_view arguments) {
  return {std::string(kTrialNames[index]), CallJson::parse(arguments),
          index == 0 ? "callA1234" : "callB5678"};
}

// Cuts off what ends the message. Some templates begin another one behind calls.
void cut_end(const CallFormat& format, bool has_calls, std::string& answer) {
  const std::string& end = has_calls ? format.turn_end_behind_calls : format.turn_end;
  if (answer.ends_with(end)) answer.resize(answer.size() - end.size());
  const std::string_view mark = trimmed(format.turn_end);
  const std::string_view calls_end =
      trimmed(is_blank(format.section_end) ? format.call_end : format.section_end);
  if (!has_calls || mark.empty() || calls_end.empty()) return;
  const size_t calls = answer.rfind(calls_end);
  if (calls == answer.npos) return;
  answer.resize(std::min(answer.find(mark, calls + calls_end.size()), answer.size()));
}

}  // namespace

std::optional<RenderedAnswer> rendered_answer(const Trials& trials, const CallFormat& format,
                                              const TrialAnswer& answer, ReasoningForm form) {
  const std::optional<std::string> text = trials.conversation(answer, form);
  if (!text) return std::nullopt;
  const std::string prompt = trials.prompt(trials.has_switch());
  RenderedAnswer out;
  if (!prompt.empty() && text->starts_with(prompt)) {
    out.prompt = prompt;
  } else {
    const size_t question = text->rfind(Trials::kQuestion);
    if (question == text->npos) return std::nullopt;
    const size_t begin = question + Trials::kQuestion.size();
    if (text->compare(begin, format.turn_begin.size(), format.turn_begin) != 0) return std::nullopt;
    out.prompt = text->substr(0, begin + format.turn_begin.size());
  }
  out.answer = text->substr(out.prompt.size());
  // A template may leave out the text by which its prompt opens the reasoning.
  if (!answer.reasoning.empty() &&
      out.answer.find(trimmed(format.reasoning_begin)) == out.answer.npos)
    out.prompt = prompt;
  cut_end(format, !answer.calls.empty(), out.answer);
  return out;
}

bool is_answer(std::span<const AnswerEvent> events, const TrialAnswer& answer) {
  const TrialAnswer found = answer_of(events);
  return trimmed(found.text) == trimmed(answer.text) &&
         trimmed(found.reasoning) == trimmed(answer.reasoning) &&
         std::equal(found.calls.begin(), found.calls.end(), answer.calls.begin(),
                    answer.calls.end(), [](const TrialCall& a, const TrialCall& b) {
                      return a.name == b.name &&
                             nlohmann::json(a.arguments) == nlohmann::json(b.arguments);
                    });
}

bool reads_back(const Trials& trials, ReasoningForm form, CallFormat& format) {
  const Result<OfferedTools> tools = OfferedTools::parse(kLearningTools);
  if (!tools) return false;
  const auto returns = [&](TrialAnswer answer) {
    for (size_t i = 0; format.ids_have_names && i < answer.calls.size(); ++i)
      answer.calls[i].id = "functions." + answer.calls[i].name + ":" + std::to_string(i);
    const std::optional<RenderedAnswer> text = rendered_answer(trials, format, answer, form);
    if (!text) return false;
    CallParser parser(format, *tools, text->prompt);
    std::vector<AnswerEvent> events = parser.feed(text->answer);
    for (AnswerEvent& event : parser.finish()) events.push_back(std::move(event));
    return is_answer(events, answer);
  };
  const std::string text = "Basalt is old.", reasoning = "Weigh the stones first.";
  const TrialCall simple = call_of(0, R"({"akey_one": "a", "ckey_three": 7})");
  const TrialCall empty = call_of(1, "{}");
  const TrialCall rich = call_of(0, R"({
    "akey_one": "He said \"it's {so}\",\nthen <left>.", "bkey_two": "007", "ckey_three": -12,
    "dkey_list": [1, 2.5], "ekey_tree": {"inner": "12", "flag": true, "rows": [{"n": 1}, {"n": 2}]},
    "fkey_flag": false})");
  format.renders_parallel = returns({.calls = {simple, empty}});
  format.renders_text_and_call = returns({.text = text, .calls = {simple}});
  format.renders_reasoning = returns({.text = text, .reasoning = reasoning}) ||
                             returns({.reasoning = reasoning, .calls = {simple}});
  return returns({.calls = {simple}}) && returns({.calls = {empty}}) && returns({.calls = {rich}});
}

}  // namespace pando::calls
