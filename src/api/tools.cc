#include "pando/tools.h"

#include <iterator>

#include "api/model_parts.h"
#include "text/calls/learn_calls.h"

namespace pando {
namespace {

using calls::CallBody;
using calls::CallFormat;

const char* body_text(CallBody body) {
  switch (body) {
    case CallBody::kObject:
      return "a JSON object with a name and arguments";
    case CallBody::kJson:
      return "a name, then the arguments as a JSON object";
    case CallBody::kParameters:
      return "a name, then each argument between marks";
    case CallBody::kNested:
      return "a name, then arguments between marks, with lists and objects as marks inside";
    case CallBody::kLoose:
      return "a name, then an object with bare keys";
    case CallBody::kPythonic:
      return "NAME(KEY=VALUE, ...), as in Python";
    case CallBody::kChannel:
      return "a message to a function, in the channels of gpt-oss";
  }
  return "";
}

std::string head_text(const CallFormat& format) {
  using Kind = calls::HeadPiece::Kind;
  std::string text;
  for (const calls::HeadPiece& piece : format.head)
    text += piece.kind == Kind::kText ? piece.text : piece.kind == Kind::kName ? "NAME" : "ID";
  return text;
}

std::vector<std::pair<std::string, std::string>> marks_of(const CallFormat& format) {
  std::vector<std::pair<std::string, std::string>> marks = {
      {"before all calls", format.section_begin}, {"before a call", format.call_begin},
      {"head of a call", head_text(format)},      {"before an argument", format.parameter_begin},
      {"before its value", format.value_begin},   {"behind an argument", format.parameter_end},
      {"behind a call", format.call_end},         {"between calls", format.separator},
      {"behind all calls", format.section_end},   {"before reasoning", format.reasoning_begin},
      {"behind reasoning", format.reasoning_end}, {"before a text", format.text_begin},
      {"behind a text", format.text_end}};
  if (format.body == CallBody::kObject) {
    marks.insert(marks.begin() + 2, {"key of the name", format.name_key});
    marks.insert(marks.begin() + 3, {"key of the arguments", format.arguments_key});
  }
  std::erase_if(marks, [](const auto& mark) { return mark.second.empty(); });
  return marks;
}

constexpr std::string_view kExampleTools = R"([{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of the next days.",
    "parameters": {"type": "object", "properties": {
      "city": {"type": "string", "description": "Its name."},
      "days": {"type": "integer", "description": "How many."}},
    "required": ["city", "days"]}}}])";

void add_example(const ChatTemplate& chat, const CallFormat& format, CallsInfo& info) {
  const calls::Trials trials(chat, kExampleTools);
  const std::string id = format.ids_have_names ? "functions.get_weather:0" : "callA1234";
  const calls::TrialAnswer answer = {
      .calls = {{"get_weather", calls::CallJson{{"city", "Paris"}, {"days", 2}}, id}}};
  const auto rendered = calls::rendered_answer(trials, format, answer);
  if (!rendered || rendered->answer.find("get_weather") == std::string::npos) return;
  info.example = rendered->answer;
  const calls::OfferedTools tools =
      calls::OfferedTools::of(JsonValue::parse(kExampleTools).value());
  calls::CallParser parser(format, tools, rendered->prompt);
  std::vector<calls::AnswerEvent> events = parser.feed(rendered->answer);
  for (calls::AnswerEvent& event : parser.finish()) events.push_back(std::move(event));
  for (calls::AnswerEvent& event : events) switch (event.kind) {
      case calls::AnswerEvent::Kind::kText:
        info.text += event.bytes;
        break;
      case calls::AnswerEvent::Kind::kCallBegin:
        info.calls.push_back({.id = std::move(event.id), .name = std::move(event.bytes)});
        break;
      case calls::AnswerEvent::Kind::kArguments:
        info.calls.back().arguments += event.bytes;
        break;
      case calls::AnswerEvent::Kind::kReasoning:
      case calls::AnswerEvent::Kind::kCallEnd:
        break;
    }
}

}  // namespace

std::span<const std::string_view> tool_format_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names = {"auto"};
    names.insert(names.end(), std::begin(calls::kCallFormatNames),
                 std::end(calls::kCallFormatNames));
    return names;
  }();
  return kNames;
}

Result<CallsInfo> describe_calls(const Model& model) {
  const Model::Parts& parts = model.parts();
  if (!parts.chat) return parts.chat.error();
  const CallFormat& format = *parts.answers.calls;
  CallsInfo info{.source = !parts.tool_format.empty() ? CallsInfo::Source::kOption
                           : format.is_known          ? CallsInfo::Source::kTemplate
                                                      : CallsInfo::Source::kNone,
                 .body = body_text(format.body),
                 .marks = marks_of(format),
                 .renders_parallel = format.renders_parallel,
                 .renders_text_and_call = format.renders_text_and_call,
                 .renders_reasoning = format.renders_reasoning};
  add_example(*parts.chat, format, info);
  return info;
}

}  // namespace pando
