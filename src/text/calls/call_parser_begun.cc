// Finds the call that has begun at the end of an answer so far.
#include <algorithm>
#include <utility>

#include "text/calls/call_parser.h"

namespace pando::calls {
namespace {

// All of it is read for each token.
constexpr size_t kLongestBeginning = 4096;

}  // namespace

std::optional<BegunCall> CallParser::begun_call() const {
  if (!waits_for_call_ || held_.size() - begun_at_ > kLongestBeginning) return std::nullopt;
  Scan scan{.text = held_, .at = begun_at_};
  if (state_ == State::kBetweenCalls) {
    const std::string begin = begin_without_list(format_, format_.call_begin);
    Scan behind = scan;
    if (by_format_ && !begin.empty() && behind.take(begin) == Read::kDone)
      return BegunCall{held_.size() - begun_at_};
    return begun_object(scan);
  }
  std::vector<const Mark*> marks;
  bool needs_more = false;
  const bool is_at_mark = find_marks(marks, needs_more) == at_;
  for (const Mark* mark : marks)
    if (is_at_mark)
      if (auto begun = begun_by_mark(*mark)) return begun;
  if (!is_bare_ || has_text_) return std::nullopt;
  if (scan.take(kCodeFence) == Read::kDone)
    scan.at = std::min(held_.find('\n', scan.at), held_.size());
  scan.skip_space();
  if (!scan.at_end() && scan.next() == '[') ++scan.at;
  return begun_object(scan);
}

std::optional<BegunCall> CallParser::begun_by_mark(const Mark& mark) const {
  Scan scan = scan_held();
  const BegunCall begun{held_.size() - n_of_prompt_, std::string(held_of_prompt())};
  if (mark.use == MarkUse::kChannel)
    return held_.find("to=functions.") == held_.npos ? std::nullopt : std::optional(begun);
  if (scan.take(mark.text) != Read::kDone) return std::nullopt;
  scan.skip_space();
  if (mark.use == MarkUse::kSection || mark.use == MarkUse::kCall) {
    // Words mark nothing without brackets behind them.
    const bool is_word = mark.text.find_first_of("<>[]|`{") == mark.text.npos;
    const bool has_bracket = !scan.at_end() && (scan.next() == '[' || scan.next() == '{');
    if ((is_word && !has_bracket) || may_be_frame(mark)) return std::nullopt;
    return begun;
  }
  if (mark.use != MarkUse::kCommon) return std::nullopt;
  if (!scan.at_end() && scan.next() == '[') ++scan.at;
  return begun_object(scan);
}

bool CallParser::may_be_frame(const Mark& mark) const {
  const std::string_view held = held_;
  return std::ranges::any_of(marks_, [&](const Mark& other) {
    return other.use == MarkUse::kFrame && other.text.size() > mark.text.size() &&
           other.text.starts_with(mark.text) &&
           (held.starts_with(other.text) || other.text.starts_with(held));
  });
}

std::optional<BegunCall> CallParser::begun_object(Scan at) const {
  std::vector<Member> members;
  Scan scan = at;
  scan.skip_space();
  if (scan.rest().starts_with("{{")) ++scan.at;  // as read_object_call
  if (read_members(scan, members) != Read::kMore || members.empty()) return std::nullopt;
  const Member& first = members.front();
  if (first.key != "name" || first.value.empty()) return std::nullopt;
  const std::optional<CallJson> name = parse_value(first.value);
  if (!name || !name->is_string() || !tools_.has(name->get_ref<const std::string&>()))
    return std::nullopt;
  const auto end = static_cast<size_t>(first.value.data() + first.value.size() - held_.data());
  return BegunCall{held_.size() - end, head_of_object(name->get_ref<const std::string&>())};
}

}  // namespace pando::calls
