// Finds the matches of a pattern in a text.
#pragma once

#include <memory>
#include <string_view>

#include "base/function_ref.h"
#include "pando/values/result.h"

namespace pando {

// Immutable; any thread.
class Matcher {
 public:
  virtual ~Matcher() = default;
  // Calls `piece` for each match (true) and for the text between matches (false), in order: nothing
  // of `text`, which must be UTF-8, is lost. A match may be empty, text between is not.
  virtual Status split(std::string_view text,
                       FunctionRef<void(std::string_view, bool)> piece) const = 0;
};

// Steps that one match in `n_bytes` of text may take, where the expression is one of a file.
constexpr size_t most_steps(size_t n_bytes) { return 16 * n_bytes + 1'000'000; }
Error too_many_steps(size_t at, size_t n_bytes);

// Matches one of our own expressions, run by PCRE2 without limits: it must not need them, and must
// not match an empty text. Syntax that PCRE2 reads differently from Oniguruma is translated or
// refused (pcre2_pattern.h).
Result<std::shared_ptr<const Matcher>> make_pcre2_matcher(std::string_view pattern);

// An expression of a file, run by the library that published tokenizers are run with.
Result<std::shared_ptr<const Matcher>> make_oniguruma_matcher(std::string_view pattern);

}  // namespace pando
