// The marks that a stream parser looks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/calls/call_format.h"

namespace pando::calls {

enum class MarkUse {
  kSection,         // section_begin
  kCall,            // call_begin
  kCommon,          // before a call as other models write it; its tool must be offered
  kChannel,         // the header of a message of gpt-oss
  kReasoningBegin,  // at the beginning of an answer only
  kReasoningEnd,    // the same, where no reasoning has begun
  kFrame,           // around texts; left out
  kCallsEnd,        // section_end, left out behind calls and a text
  kTurnEnd,         // left out at the end of an answer
};

inline constexpr std::string_view kCodeFence = "```";

struct Mark {
  MarkUse use;
  std::string text;   // trimmed, not empty
  std::string first;  // up to its first white space, by which it is found
};

// The marks in a text. Without tools there are none of calls.
std::vector<Mark> answer_marks(const CallFormat& format, bool has_tools);
// Marks that may stand behind a call.
std::vector<std::string> marks_behind_calls(const CallFormat& format);

// A mark of a section without the brackets of its list.
std::string begin_without_list(const CallFormat& format, std::string_view mark);
std::string end_without_list(const CallFormat& format, std::string_view mark);

}  // namespace pando::calls
