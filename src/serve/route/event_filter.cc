#include "serve/route/event_filter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "ask/stream_event.h"
#include "base/errors.h"
#include "serve/route/event_blocks.h"
#include "serve/routed.h"

namespace pando::serve {
namespace {

constexpr std::string_view kTokensComment = ": tokens ", kBlockEnd = "\n\n";
constexpr std::string_view kFailed = "event: response.failed\n";  // an error follows, and says why
// Names of events that end a stream without [DONE].
constexpr std::string_view kLastEvents[] = {
    "event: message_stop\n",        "event: error\n",
    "event: response.completed\n",  "event: response.failed\n",
    "event: response.incomplete\n",
};

Error other_stream(const char* found) {
  return make_error(ErrorCode::kInternal, "another replica goes on in another way: {}", found);
}

// The next number of a comment; nothing behind the last.
std::optional<uint32_t> next_number(std::string_view& text) {
  uint32_t number = 0;
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

Result<std::string> EventFilter::take(std::string_view bytes) {
  rest_ += bytes;
  std::string passed;
  size_t begin = 0;
  bool awaits_error = false;
  for (;;) {
    // The end of a block may lie across the seam.
    const size_t end = rest_.find(kBlockEnd, std::max(begin, searched_));
    if (end == std::string::npos) break;
    const std::string_view block =
        std::string_view(rest_).substr(begin, end + kBlockEnd.size() - begin);
    const size_t next = end + kBlockEnd.size();
    failure_ = failure_told_by(block);
    if (failure_.empty() && block.starts_with(kFailed)) {
      const size_t next_end = rest_.find(kBlockEnd, next);
      awaits_error = next_end == std::string::npos;
      if (awaits_error) break;
      failure_ = failure_told_by(std::string_view(rest_).substr(next, next_end - next));
    }
    begin = searched_ = next;
    if (!failure_.empty()) break;
    const Status status =
        block.starts_with(kTokensComment) ? take_comment(block) : take_block(block, passed);
    if (!status) return status.error();
  }
  rest_.erase(0, begin);
  searched_ = rest_.empty() || awaits_error ? 0 : rest_.size() - 1;
  return passed;
}

Status EventFilter::take_comment(std::string_view comment) {
  comment.remove_prefix(kTokensComment.size());
  const auto request = next_number(comment), choice = next_number(comment);
  if (!request || !choice) return other_stream("a comment about tokens without its answer");
  if (n_repeated_ < open_.passed.size()) return other_stream("an event has fewer bytes");
  if (open_of_) {
    std::vector<Token>& whole = whole_[*open_of_];
    whole.insert(whole.end(), open_.tokens.begin(), open_.tokens.end());
  }
  has_comment_ = true;
  open_ = Unit();
  open_of_ = AnswerPlace{*request, *choice};
  n_repeated_ = 0;
  while (const auto token = next_number(comment))
    open_.tokens.push_back(static_cast<Token>(*token));
  const auto broken = broken_.find(*open_of_);
  if (broken == broken_.end()) return {};
  if (broken->second.tokens != open_.tokens) return other_stream("an event has other tokens");
  open_.passed = std::move(broken->second.passed);
  broken_.erase(broken);
  return {};
}

Status EventFilter::take_block(std::string_view block, std::string& passed) {
  if (n_repeated_ < open_.passed.size()) {
    std::string_view told = std::string_view(open_.passed).substr(n_repeated_);
    told = told.substr(0, told.find(kBlockEnd) + kBlockEnd.size());
    if (told != block && !differ_in_counts_alone(told, block))
      return other_stream("an event has other bytes");
    n_repeated_ += told.size();
    return {};
  }
  open_.passed += block;
  n_repeated_ = open_.passed.size();
  passed += block;
  return {};
}

Status EventFilter::finish() const {
  if (!rest_.empty()) return other_stream("the stream ends inside an event");
  if (n_repeated_ < open_.passed.size() || !broken_.empty())
    return other_stream("the stream ends before what was passed on");
  return {};
}

void EventFilter::restart() {
  rest_.clear();
  searched_ = n_repeated_ = 0;
  failure_.clear();
  if (!open_of_) return;  // the head comes again as a whole
  // No block of it was passed on, so its tokens may come divided otherwise.
  if (!open_.passed.empty())
    broken_[*open_of_] = std::move(open_);
  open_ = Unit();
  open_of_.reset();
}

std::string EventFilter::begun() const {
  if (!has_comment_) return {};
  std::string text = "[";
  for (const auto& [place, tokens] : whole_) {
    if (tokens.empty()) continue;
    text +=
        fmt::format(R"({}{{"request":{},"choice":{},"tokens":[{}]}})", text.size() > 1 ? "," : "",
                    place.request, place.choice, fmt::join(tokens, ","));
  }
  return text + "]";
}

std::string with_begun(std::string_view object, std::string_view begun) {
  const size_t begin = object.find('{') + 1;  // of what was read as one
  const size_t next = object.find_first_not_of(" \t\r\n", begin);
  const bool is_alone = next != object.npos && object[next] == '}';
  return fmt::format("{}\"{}\":{}{}{}", object.substr(0, begin), kBegunField, begun,
                     is_alone ? "" : ",", object.substr(begin));
}

bool ends_stream(std::string_view blocks) {
  if (blocks.ends_with(ask::kStreamEnd)) return true;
  if (!blocks.ends_with(kBlockEnd)) return false;
  const size_t before = blocks.substr(0, blocks.size() - kBlockEnd.size()).rfind(kBlockEnd);
  const std::string_view last =
      blocks.substr(before == blocks.npos ? 0 : before + kBlockEnd.size());
  for (const std::string_view name : kLastEvents)
    if (last.starts_with(name)) return true;
  return false;
}

}  // namespace pando::serve
