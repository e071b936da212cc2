#include "text/calls/call_parser.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace pando::calls {
namespace {

using Kind = AnswerEvent::Kind;

// A call that is longer is tried again only when a character comes that can end it, and when it has
// grown by a 64th, so that all trials together take linear time.
constexpr size_t kTriedOften = 4096, kGrowth = 64;
constexpr std::string_view kEnds = ")}]>";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

CallParser::CallParser(const CallFormat& format, const OfferedTools& tools, std::string_view prompt)
    : format_(format),
      tools_(tools),
      marks_(answer_marks(format, !tools.empty())),
      marks_behind_(marks_behind_calls(format)) {
  held_ = format_.begun_by(prompt);
  n_of_prompt_ = held_.size();
  run();
}

std::vector<AnswerEvent> CallParser::feed(std::string_view bytes) {
  held_ += bytes;
  may_end_ = may_end_ || bytes.find_first_of(kEnds) != bytes.npos;
  const bool is_tried = !waits_for_call_ || held_.size() < kTriedOften ||
                        (may_end_ && held_.size() - tried_ > held_.size() / kGrowth);
  if (is_tried) run();
  return std::exchange(events_, {});
}

std::vector<AnswerEvent> CallParser::finish() {
  is_final_ = true;
  run();
  if (state_ == State::kText && !drops_space_ && !space_.empty())
    events_.push_back({Kind::kText, std::move(space_)});
  return std::exchange(events_, {});
}

void CallParser::run() {
  waits_for_call_ = false;
  begun_at_ = 0;
  while (at_ < held_.size() && step()) {
  }
  begun_at_ -= std::min(begun_at_, at_);
  held_.erase(0, at_);
  at_ = 0;
  tried_ = held_.size();
  may_end_ = false;
}

bool CallParser::step() {
  switch (state_) {
    case State::kText:
      return step_text();
    case State::kReasoning:
      return step_reasoning();
    default:
      return step_between_calls();
  }
}

bool CallParser::step_text() {
  if (is_bare_ && !has_text_ && !tools_.empty()) {
    const Read read = take_bare();
    waits_for_call_ = read == Read::kMore;
    if (read == Read::kDone) return true;
    if (read == Read::kMore) return false;
  }
  std::vector<const Mark*> marks;
  bool needs_more = false;
  emit_until(Kind::kText, find_marks(marks, needs_more));
  if (needs_more || marks.empty()) return false;
  for (const Mark* mark : marks) {
    const Read read = take(*mark);
    waits_for_call_ = read == Read::kMore;
    if (read != Read::kBroken) return read == Read::kDone;
  }
  size_t end = at_ + 1;  // of the first character
  while (end < held_.size() && !begins_character(held_[end])) ++end;
  emit_until(Kind::kText, end);
  return true;
}

bool CallParser::step_reasoning() {
  const std::string_view end = trimmed(format_.reasoning_end);
  const size_t found = held_.find(end, at_);
  if (found == held_.npos) {
    const size_t begun = is_final_ ? 0 : begun_at_end(std::string_view(held_).substr(at_), end);
    emit_until(Kind::kReasoning, held_.size() - begun);
    return false;
  }
  emit_until(Kind::kReasoning, found);
  advance(found + end.size());
  begin_part(State::kText);
  return true;
}

bool CallParser::step_between_calls() {
  Scan scan = scan_held();
  size_t decided = at_;
  bool in_fence = in_fence_;
  while (true) {
    scan.skip_space();
    if (scan.at_end()) {
      if (is_final_) advance(held_.size());
      return false;
    }
    bool needs_more = false, is_mark = false;
    for (const std::string& mark : marks_behind_) {
      const Read read = scan.take(mark);
      needs_more = needs_more || read == Read::kMore;
      is_mark = read == Read::kDone;
      if (is_mark) break;
    }
    if (in_fence && !is_mark && !needs_more) {
      const Read read = scan.take(kCodeFence);
      needs_more = read == Read::kMore;
      is_mark = read == Read::kDone;
      in_fence = !is_mark;
    }
    if (needs_more && !is_mark) return false;
    if (is_mark) {
      decided = scan.at;
    } else if (std::string_view(",;]").find(scan.next()) != std::string_view::npos) {
      ++scan.at;
    } else {
      break;
    }
  }
  ReadCall call;
  const size_t call_at = scan.at;
  const Read read = read_next_call(scan, call);
  waits_for_call_ = read == Read::kMore;
  begun_at_ = call_at;
  if (read == Read::kMore) return false;
  in_fence_ = in_fence;
  if (read == Read::kBroken) {
    advance(decided);
    begin_part(State::kText);
    return true;
  }
  advance(scan.at);
  emit_call(std::move(call));
  return true;
}

size_t CallParser::find_marks(std::vector<const Mark*>& marks, bool& needs_more) const {
  const std::string_view text = held_;
  bool has_text = has_text_;
  for (size_t at = at_; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    for (const Mark& mark : marks_) {
      if (rest.front() != mark.first.front()) continue;
      const bool is_early =
          mark.use == MarkUse::kReasoningBegin || mark.use == MarkUse::kReasoningEnd;
      if (is_early ? has_text : mark.use == MarkUse::kCallsEnd && !has_calls_) continue;
      if (rest.starts_with(mark.first))
        marks.push_back(&mark);
      else if (!is_final_ && std::string_view(mark.first).starts_with(rest))
        needs_more = true;
    }
    if (needs_more || !marks.empty()) return at;
    has_text = has_text || (!is_space(rest.front()) && at - at_ >= n_of_prompt_);
  }
  return text.size();
}

void CallParser::advance(size_t to) {
  n_of_prompt_ -= std::min(n_of_prompt_, to - at_);
  at_ = to;
}

// Emits bytes up to `end`, but holds white space back until words follow.
void CallParser::emit_until(AnswerEvent::Kind kind, size_t end) {
  std::string_view bytes = std::string_view(held_).substr(at_, end - at_);
  bytes.remove_prefix(std::min(n_of_prompt_, bytes.size()));
  advance(end);
  if (drops_space_) bytes = trimmed_left(bytes);
  const std::string_view words = trimmed_right(bytes);
  if (!words.empty()) {
    drops_space_ = false;
    has_text_ = has_text_ || kind == Kind::kText;
    events_.push_back({kind, std::exchange(space_, {}) + std::string(words)});
  }
  space_ += bytes.substr(words.size());
}

void CallParser::emit_call(ReadCall call) {
  events_.push_back({Kind::kCallBegin, std::move(call.name),
                     is_number(call.id) ? std::string() : std::move(call.id)});
  events_.push_back({Kind::kArguments, std::move(call.arguments)});
  events_.push_back({Kind::kCallEnd});
  has_calls_ = true;
  begin_part(State::kBetweenCalls);
}

void CallParser::begin_part(State state) {
  state_ = state;
  space_.clear();
  drops_space_ = true;
}

}  // namespace pando::calls
