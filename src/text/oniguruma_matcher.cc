#include <oniguruma.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/errors.h"
#include "text/matcher.h"
#include "text/utf8.h"

namespace pando {
namespace {

constexpr unsigned kParseDepth = 250;  // groups in groups; each takes some of the thread's stack

// Most entries of the stack of a match, of about 40 bytes each. Each character that may be given
// back takes one.
constexpr size_t most_entries(size_t n_bytes) { return 2 * n_bytes + 1'000'000; }

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

// Once for the process, before the first expression; safe from any thread.
void start_oniguruma() {
  static std::once_flag started;
  std::call_once(started, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_parse_depth_limit(kParseDepth);
  });
}

// Repetitions of repetitions: a match that consumes nothing may go through all of them, and only
// the steps back are counted. As many as PCRE2 allows in one.
constexpr size_t kMostRepeats = 65'535;

// The most often that a part of an expression, which is well formed, asks to be repeated by {n,m}
// and those around it.
class Repeats {
 public:
  explicit Repeats(std::string_view pattern) : rest_(pattern) {}

  size_t most() {
    while (!rest_.empty()) step();
    return most_;
  }

 private:
  void step() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '{') return interval();
    if (c == '*' || c == '+' || c == '?') return;  // of the part before, as {n,m} behind it is
    last_ = 1;
    if (c == '\\') return escape();
    if (c == '[') return set();
    if (c == '(') inside_.push_back(1);
    if (c != ')' || inside_.size() < 2) return;
    last_ = inside_.back();
    inside_.pop_back();
    note();
  }

  void note() {
    inside_.back() = std::max(inside_.back(), last_);
    most_ = std::max(most_, last_);
  }

  void interval() {
    size_t times = 0, number = 0;
    for (; !rest_.empty() && rest_.front() != '}'; rest_.remove_prefix(1)) {
      const bool digit = rest_.front() >= '0' && rest_.front() <= '9';
      number = digit ? std::min(number * 10 + (rest_.front() - '0'), kMostRepeats + 1) : 0;
      times = std::max(times, number);
    }
    if (!rest_.empty()) rest_.remove_prefix(1);
    last_ = std::min(last_ * std::max<size_t>(times, 1), kMostRepeats + 1);
    note();
  }

  // \p{...}, \x{...} and the like are no repetitions.
  void escape() {
    if (rest_.empty()) return;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    const bool braces = std::string_view("pPxoXyY").find(c) != std::string_view::npos;
    if (braces && rest_.starts_with('{'))
      rest_.remove_prefix(std::min(rest_.find('}'), rest_.size()));
    if (braces && rest_.starts_with('}')) rest_.remove_prefix(1);
  }

  void set() {
    for (int open = 1; open > 0 && !rest_.empty(); rest_.remove_prefix(1)) {
      if (rest_.front() == '\\' && rest_.size() > 1)
        rest_.remove_prefix(1);
      else if (rest_.front() == '[')
        ++open;
      else if (rest_.front() == ']')
        --open;
    }
  }

  std::string_view rest_;
  std::vector<size_t> inside_ = {1};  // by open group: of the parts in it
  size_t last_ = 1;                   // of the part before
  size_t most_ = 1;
};

struct FreeRegion {
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};
struct FreeParam {
  void operator()(OnigMatchParam* param) const { onig_free_match_param(param); }
};

class OnigurumaMatcher final : public Matcher {
 public:
  explicit OnigurumaMatcher(OnigRegex expression) : expression_(expression) {}
  ~OnigurumaMatcher() override { onig_free(expression_); }
  OnigurumaMatcher(const OnigurumaMatcher&) = delete;
  OnigurumaMatcher& operator=(const OnigurumaMatcher&) = delete;

  Status split(std::string_view text,
               FunctionRef<void(std::string_view, bool)> piece) const override {
    const std::unique_ptr<OnigRegion, FreeRegion> region(onig_region_new());
    const std::unique_ptr<OnigMatchParam, FreeParam> param(onig_new_match_param());
    onig_initialize_match_param(param.get());
    const auto steps = static_cast<unsigned long>(most_steps(text.size()));
    onig_set_retry_limit_in_match_of_match_param(param.get(), steps);
    onig_set_retry_limit_in_search_of_match_param(param.get(), steps);
    onig_set_match_stack_limit_size_of_match_param(
        param.get(), static_cast<unsigned>(std::min<size_t>(most_entries(text.size()), INT32_MAX)));
    size_t done = 0;   // given so far
    size_t start = 0;  // of the next search
    bool matched = false;
    while (start <= text.size()) {
      const OnigUChar* end = bytes_of(text) + text.size();
      const int found =
          onig_search_with_param(expression_, bytes_of(text), end, bytes_of(text) + start, end,
                                 region.get(), ONIG_OPTION_NONE, param.get());
      if (found == ONIG_MISMATCH) break;
      if (found < 0) return failure(found, start, text.size());
      const auto from = static_cast<size_t>(region->beg[0]);
      const auto to = static_cast<size_t>(region->end[0]);
      if (from < done || to < from) {  // \K moves the begin; the library promises nothing
        return unsupported(
            "splitting the text into words failed: the tokenizer's regular expression moves the "
            "start of a match out of the match, at byte {} of {}",
            from, text.size());
      }
      if (from == to && matched && done == from) {  // empty, and right behind a match
        if (start >= text.size()) break;
        start += static_cast<size_t>(utf8_length(text[start]));
        continue;
      }
      if (from > done) piece(text.substr(done, from - done), false);
      piece(text.substr(from, to - from), true);
      done = start = to;
      matched = true;
    }
    if (done < text.size()) piece(text.substr(done), false);
    return {};
  }

 private:
  static Error failure(int code, size_t at, size_t n_bytes) {
    const bool limit = code == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER ||
                       code == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER ||
                       code == ONIGERR_MATCH_STACK_LIMIT_OVER;
    if (limit) return too_many_steps(at, n_bytes);
    OnigUChar message[ONIG_MAX_ERROR_MESSAGE_LEN];
    const int length = onig_error_code_to_str(message, code);
    return unsupported(
        "splitting the text into words failed: the tokenizer's regular expression fails: {}",
        std::string_view(reinterpret_cast<char*>(message), length));
  }

  OnigRegex expression_;
};

}  // namespace

Result<std::shared_ptr<const Matcher>> make_oniguruma_matcher(std::string_view pattern) {
  start_oniguruma();
  OnigRegex expression = nullptr;
  OnigErrorInfo where;
  const int code = onig_new(&expression, bytes_of(pattern), bytes_of(pattern) + pattern.size(),
                            ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, OnigDefaultSyntax, &where);
  if (code != ONIG_NORMAL) {
    OnigUChar message[ONIG_MAX_ERROR_MESSAGE_LEN];
    const int length = onig_error_code_to_str(message, code, &where);
    return unsupported("the regular expression '{}' does not compile: {}", pattern,
                       std::string_view(reinterpret_cast<char*>(message), length));
  }
  auto matcher = std::make_shared<OnigurumaMatcher>(expression);
  if (Repeats(pattern).most() > kMostRepeats) {
    return unsupported("the regular expression '{}' repeats a part more than {} times", pattern,
                       kMostRepeats);
  }
  return std::shared_ptr<const Matcher>(std::move(matcher));
}

}  // namespace pando
