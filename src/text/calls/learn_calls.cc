#include "text/calls/learn_calls.h"

#include <algorithm>
#include <utility>

#include "text/calls/atoms.h"
#include "text/calls/call_shape.h"
#include "text/calls/harmony.h"
#include "text/calls/learn_turn.h"
#include "text/calls/scan.h"

namespace pando::calls {
namespace {

std::string_view unless_blank(std::string_view text) {
  return is_blank(text) ? std::string_view() : text;
}

// Two heads of different calls: a number that differs is an id.
void join_heads(CallFormat& format, const CallFormat& other) {
  if (format.head.size() != other.head.size()) return;
  for (size_t i = 0; i < format.head.size(); ++i) {
    const std::string a = format.head[i].text, b = other.head[i].text;
    if (a == b) continue;
    const size_t n = std::min(a.size(), b.size());
    size_t begin = 0, end = 0;
    while (begin < n && a[begin] == b[begin]) ++begin;
    while (end < n - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
    const std::string_view differs = std::string_view(a).substr(begin, a.size() - begin - end);
    if (differs.empty() || differs.find_first_not_of("0123456789") != differs.npos) return;
    using Kind = HeadPiece::Kind;
    format.head[i] = {Kind::kText, a.substr(0, begin)};
    const auto at = format.head.begin() + static_cast<ptrdiff_t>(i) + 1;
    format.head.insert(at, {{Kind::kId}, {Kind::kText, a.substr(a.size() - end)}});
    return;
  }
}

// Marks around one call that stands alone, and around two.
void set_marks(std::string_view before, std::string_view between, std::string_view behind,
               CallFormat& format) {
  const std::string_view begin = unless_blank(common_end(before, between));
  between.remove_suffix(begin.size());
  const std::string_view end = unless_blank(common_begin(behind, between));
  between.remove_prefix(end.size());
  format.call_begin = begin;
  format.call_end = end;
  format.separator = between;
  format.section_begin = before.substr(0, before.size() - begin.size());
  format.section_end = behind.substr(end.size());
}

void set_is_list(CallFormat& format) {
  const auto is_list = [](std::string_view begin, std::string_view end) {
    return trimmed(begin).ends_with('[') && trimmed(end).starts_with(']');
  };
  format.is_list = is_list(format.section_begin, format.section_end) ||
                   (is_blank(format.section_begin) && is_list(format.call_begin, format.call_end));
}

std::vector<TrialCall> trial_calls(bool ids_have_names) {
  std::vector<TrialCall> calls;
  for (const std::string_view name : kTrialNames) {
    const std::string id =
        ids_have_names  ? "functions." + std::string(name) + ":" + std::to_string(calls.size())
        : calls.empty() ? "callA1234"
                        : "callB5678";
    calls.push_back({std::string(name), trial_arguments(), id});
  }
  return calls;
}

// The marks of calls, if the template shows calls in a form that is known.
void learn_marks(Turn& turn, CallFormat& format) {
  for (const bool ids_have_names : {false, true}) {
    std::vector<TrialCall> calls = trial_calls(ids_have_names);
    const std::string one = turn.part_of({.calls = {calls[0]}});
    const std::string two = turn.part_of({.calls = calls});
    if (ids_have_names)
      for (TrialCall& call : calls) call.id.clear();
    const std::optional<CallShape> alone = find_call(one, 0, calls[0]);
    if (!alone) continue;
    const std::optional<CallShape> first = find_call(two, 0, calls[0]);
    const std::optional<CallShape> second =
        first ? find_call(two, first->end, calls[1]) : std::nullopt;
    CallFormat learned = alone->format;
    learned.is_known = true;
    learned.ids_have_names = ids_have_names;
    std::string before = one.substr(0, alone->begin);
    // Some templates end the section only behind several calls.
    std::string_view behind = second ? std::string_view(two).substr(second->end)
                                     : std::string_view(one).substr(alone->end);
    turn.end_behind_calls = common_end(turn.end, behind);
    behind.remove_suffix(turn.end_behind_calls.size());
    const std::string_view turn_end = trimmed(turn.end);
    if (!turn_end.empty()) behind = behind.substr(0, behind.find(turn_end));
    before = before.substr(turn.reasoning_length(before));
    if (second) {
      const std::string between = two.substr(first->end, second->begin - first->end);
      if (is_blank(before)) before = turn.give_back(common_end(turn.begin, between));
      join_heads(learned, second->format);
      set_marks(before, between, behind, learned);
    } else {
      learned.call_begin = before;
      learned.call_end = behind;
    }
    set_is_list(learned);
    format = learned;
    return;
  }
}

}  // namespace

const std::string_view kLearningTools = R"([
  {"type": "function", "function": {"name": "find_river_q1", "description": "Finds a river.",
   "parameters": {"type": "object", "additionalProperties": false, "properties": {
    "akey_one": {"type": "string", "description": "a"},
    "bkey_two": {"type": "string", "description": "b"},
    "ckey_three": {"type": "integer", "description": "c"},
    "dkey_list": {"type": "array", "items": {"type": "number"}, "description": "d"},
    "ekey_tree": {"type": "object", "description": "e", "properties": {
      "inner": {"type": "string", "description": "f"}, "flag": {"type": "boolean", "description": "g"},
      "rows": {"type": "array", "description": "h", "items": {"type": "object", "properties": {
        "n": {"type": "integer", "description": "i"}}}}}},
    "fkey_flag": {"type": "boolean", "description": "j"}}, "required": ["akey_one"]}}},
  {"type": "function", "function": {"name": "count_stone_q2", "description": "Counts stones.",
   "parameters": {"type": "object", "additionalProperties": false, "properties": {
    "akey_one": {"type": "string", "description": "a"},
    "bkey_two": {"type": "string", "description": "b"},
    "ckey_three": {"type": "integer", "description": "c"}}, "required": []}}}])";

CallFormat learn_calls(const ChatTemplate& chat) {
  const Trials trials(chat, kLearningTools);
  CallFormat none = *call_format_named("json");
  Turn turn(trials);
  if (turn.is_known()) {
    CallFormat format;
    if (turn.has_channels())
      format = harmony_format();
    else
      learn_marks(turn, format);
    turn.copy_to(format);
    if (format.is_known && reads_back(trials, turn.form, format)) return format;
    if (std::optional<CallFormat> known = call_format_in(chat)) none = *std::move(known);
    turn.copy_to(none);
  }
  return none;
}

Result<CallFormat> named_calls(std::string_view name, const ChatTemplate& chat) {
  Result<CallFormat> format = call_format_named(name);
  if (!format) return format;
  const Trials trials(chat, kLearningTools);
  const Turn turn(trials);
  if (!turn.is_known()) return format;
  turn.copy_to(*format);
  if (format->is_known) reads_back(trials, turn.form, *format);
  return format;
}

}  // namespace pando::calls
