#include <oniguruma.h>

#include <algorithm>
#include <mutex>

#include "base/errors.h"
#include "text/matcher.h"
#include "text/utf8.h"

namespace pando {
namespace {

constexpr unsigned kParseDepth = 250;  // groups in groups; each takes some of the thread's stack

// Entries of the stack of a match, of 40 bytes or so; one is needed for each character that may be
// given back.
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
    return unsupported("cutting text into words: the tokenizer's regular expression fails: {}",
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
  return std::shared_ptr<const Matcher>(std::make_shared<OnigurumaMatcher>(expression));
}

}  // namespace pando
