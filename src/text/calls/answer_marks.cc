#include "text/calls/answer_marks.h"

#include <algorithm>

#include "text/calls/call_reader.h"
#include "text/calls/scan.h"

namespace pando::calls {
namespace {

// Marks that small models write before a call, whatever their template writes.
constexpr std::string_view kCommonMarks[] = {
    "<tool_call>",     "<tool_calls>",        "<tools>",
    "<function_call>", "<|tool_call|>",       "<|python_tag|>",
    "[TOOL_CALLS]",    "<|tool_call_start|>", "<function_calls>"};
constexpr std::string_view kCommonEnds[] = {
    "</tool_call>",   "</tool_calls>",     "</tools>",      "</function_call>",
    "<|/tool_call|>", "<|tool_call_end|>", "[/TOOL_CALLS]", "</function_calls>"};

// Words alone mark nothing.
bool is_strong(std::string_view mark) { return mark.find_first_of("<>[]|") != mark.npos; }

}  // namespace

std::string begin_without_list(const CallFormat& format, std::string_view mark) {
  mark = trimmed(mark);
  if (format.is_list && mark.ends_with('[')) mark.remove_suffix(1);
  return std::string(trimmed(mark));
}

std::string end_without_list(const CallFormat& format, std::string_view mark) {
  mark = trimmed(mark);
  if (format.is_list && mark.starts_with(']')) mark.remove_prefix(1);
  return std::string(trimmed(mark));
}

std::vector<Mark> answer_marks(const CallFormat& format, bool has_tools) {
  std::vector<Mark> marks;
  const auto add = [&](MarkUse use, std::string_view text) {
    text = trimmed(text);
    const bool is_known = std::any_of(marks.begin(), marks.end(), [&](const Mark& mark) {
      return mark.use == use && mark.text == text;
    });
    if (!text.empty() && !is_known)
      marks.push_back(
          {use, std::string(text), std::string(text.substr(0, text.find_first_of(" \n\t\r")))});
  };
  if (format.body == CallBody::kChannel && format.is_known)
    for (const char* text : {"<|start|>", "<|channel|>", "to=functions."})
      add(MarkUse::kChannel, text);
  add(MarkUse::kReasoningBegin, format.reasoning_begin);
  add(MarkUse::kReasoningEnd, format.reasoning_end);
  if (has_tools && format.is_known && format.body != CallBody::kChannel) {
    add(MarkUse::kSection, begin_without_list(format, format.section_begin));
    const std::string begin = begin_without_list(format, format.call_begin);
    add(MarkUse::kCall, begin);
    // Models leave out the first line of "<tool_call>\n<function=".
    if (const size_t line = begin.rfind('\n'); line != begin.npos && begin[line + 1] == '<')
      add(MarkUse::kCall, std::string_view(begin).substr(line + 1));
  }
  if (has_tools && format.body != CallBody::kChannel)
    for (const std::string_view mark : kCommonMarks) add(MarkUse::kCommon, mark);
  if (is_strong(format.text_begin)) {
    add(MarkUse::kFrame, format.text_begin);
    add(MarkUse::kFrame, format.text_end);
  }
  if (format.body == CallBody::kChannel)
    for (const char* text : {"<|end|>", "<|call|>", "<|return|>"}) add(MarkUse::kFrame, text);
  if (is_strong(format.section_end))
    add(MarkUse::kCallsEnd, end_without_list(format, format.section_end));
  if (is_strong(format.turn_end)) {
    add(MarkUse::kTurnEnd, format.turn_end);
    add(MarkUse::kTurnEnd, first_mark(format.turn_end));
  }
  return marks;
}

std::vector<std::string> marks_behind_calls(const CallFormat& format) {
  std::vector<std::string> marks;
  const auto add = [&](std::string_view text) {
    if (!trimmed(text).empty()) marks.emplace_back(trimmed(text));
  };
  std::string_view end = trimmed(format.call_end);
  add(end);
  add(end_without_list(format, format.section_end));
  // The rest of "</function>\n</tool_call>", whose beginning ended the call.
  if (end.size() > first_mark(end).size()) add(end.substr(first_mark(end).size()));
  if (format.separator.find_first_of("<[") != std::string::npos) add(format.separator);
  if (format.body == CallBody::kChannel) return marks;
  for (const std::string_view mark : kCommonEnds) add(mark);
  return marks;
}

}  // namespace pando::calls
