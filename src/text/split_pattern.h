// A pre-tokenizer's regular expression: cuts text into words.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "pando/result.h"

namespace pando {

extern const std::string_view kGpt2Pattern;
extern const std::string_view kQwen2Pattern;
extern const std::string_view kLlama3Pattern;

// `pattern`, written for Oniguruma (which the published tokenizers were made with), for PCRE2:
// \s and \S become explicit sets, since PCRE2 also counts U+180E as a space.
Result<std::string> to_pcre2_pattern(std::string_view pattern);

// Immutable once compiled; any thread.
class SplitPattern {
 public:
  static Result<SplitPattern> compile(std::string_view pattern);

  // Calls `word` for each match and for the text between matches, in order: nothing of `text`,
  // which must be UTF-8, is lost.
  Status split(std::string_view text, FunctionRef<void(std::string_view)> word) const;

 private:
  struct Code;  // of PCRE2
  explicit SplitPattern(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace pando
