#include "text/split_pattern.h"

#include <algorithm>

#include "base/errors.h"

namespace pando {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

class LiteralMatcher final : public Matcher {
 public:
  explicit LiteralMatcher(std::string_view literal) : literal_(literal) {}

  Status split(std::string_view text,
               FunctionRef<void(std::string_view, bool)> piece) const override {
    size_t done = 0;
    for (size_t at; (at = text.find(literal_, done)) != text.npos;) {
      if (at > done) piece(text.substr(done, at - done), false);
      piece(text.substr(at, literal_.size()), true);
      done = at + literal_.size();
    }
    if (done < text.size()) piece(text.substr(done), false);
    return {};
  }

 private:
  std::string literal_;
};

}  // namespace

Result<SplitPattern> SplitPattern::of(Result<std::shared_ptr<const Matcher>> matcher,
                                      std::string_view source) {
  if (!matcher.ok()) return matcher.error();
  return SplitPattern(std::move(*matcher), source, /*is_literal=*/false);
}

Result<SplitPattern> SplitPattern::compile(std::string_view pattern) {
  return of(make_pcre2_matcher(pattern), pattern);
}

// The expressions of most files are also our own: PCRE2 runs them in half the time and gives the
// same words (100,000 random strings each, tests/text/unicode_agreement_test.cc).
Result<SplitPattern> SplitPattern::compile_of_file(std::string_view pattern) {
  const bool own = pattern == kGpt2Pattern || pattern == kQwen2Pattern || pattern == kLlama3Pattern;
  return own ? compile(pattern) : of(make_oniguruma_matcher(pattern), pattern);
}

SplitPattern SplitPattern::literal(std::string_view text) {
  return SplitPattern(std::make_shared<LiteralMatcher>(text), text, /*is_literal=*/true);
}

}  // namespace pando
