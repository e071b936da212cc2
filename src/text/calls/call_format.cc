#include "text/calls/call_format.h"

#include "base/errors.h"
#include "text/calls/harmony.h"
#include "text/calls/scan.h"

namespace pando::calls {

std::string_view CallFormat::begun_by(std::string_view prompt) const {
  for (const std::string& end : prompt_ends)
    if (!end.empty() && prompt.ends_with(end)) return prompt.substr(prompt.size() - end.size());
  const std::string_view mark = trimmed(reasoning_begin);
  const size_t end = trimmed_right(prompt).size();
  if (mark.empty() || !prompt.substr(0, end).ends_with(mark)) return {};
  return prompt.substr(end - mark.size());
}

Result<CallFormat> call_format_named(std::string_view name) {
  CallFormat format;
  format.reasoning_begin = "<think>";
  format.reasoning_end = "</think>";
  if (name == "json") return format;
  if (name == "harmony") return harmony_format();
  format.is_known = true;
  if (name == "hermes") {
    format.call_begin = "<tool_call>\n";
    format.call_end = "\n</tool_call>";
    format.separator = "\n";
    return format;
  }
  if (name == "pythonic") {
    format.body = CallBody::kPythonic;
    format.is_list = true;
    format.section_begin = "<|tool_call_start|>[";
    format.section_end = "]<|tool_call_end|>";
    format.separator = ", ";
    return format;
  }
  if (name == "kimi") {
    using Kind = HeadPiece::Kind;
    format.body = CallBody::kJson;
    format.section_begin = "<|tool_calls_section_begin|>";
    format.section_end = "<|tool_calls_section_end|>";
    format.call_begin = "<|tool_call_begin|>functions.";
    format.call_end = "<|tool_call_end|>";
    format.head = {{Kind::kName},
                   {Kind::kText, ":"},
                   {Kind::kId},
                   {Kind::kText, "<|tool_call_argument_begin|>"}};
    format.ids_have_names = true;
    return format;
  }
  return invalid_argument("tool format '{}' is unknown, expected {}", one_line(name),
                          one_of_these(kCallFormatNames));
}

std::optional<CallFormat> call_format_in(const ChatTemplate& chat) {
  if (chat.mentions("<|tool_calls_section_begin|>")) return *call_format_named("kimi");
  return std::nullopt;
}

}  // namespace pando::calls
