// Regular expressions over characters, as trees.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "text/grammar/char_set.h"

namespace pando::grammar {

struct Regex {
  enum class Kind {
    kSet,        // one character of `set`
    kSequence,   // all `parts` in order; none: the empty text
    kOneOf,      // one of `parts`
    kRepeat,     // the only part, `least` to `most` times
    kTextStart,  // "^"
    kTextEnd,    // "$"
  };
  Kind kind = Kind::kSequence;
  CharSet set = {};
  std::vector<Regex> parts = {};
  uint32_t least = 0;
  uint32_t most = kNoEnd;

  static constexpr uint32_t kNoEnd = UINT32_MAX;
};

Regex of_set(CharSet set);
Regex of_text(std::string_view text);  // UTF-8
Regex sequence(std::vector<Regex> parts);
Regex one_of(std::vector<Regex> parts);
Regex repeat(Regex part, uint32_t least, uint32_t most = Regex::kNoEnd);

// Options of a pattern. Backreferences, assertions other than ^ and $, and syntax that dialects
// read differently are refused by name (kUnsupported); a text that is no pattern is
// kInvalidArgument.
struct RegexSyntax {
  bool any_case = false;    // ASCII letters in either case
  bool dot_is_all = false;  // "." matches line ends too
};
// The pattern in the syntax of ECMA-262 with the flag u, as JSON Schema has it.
Result<Regex> parse_regex(std::string_view pattern, RegexSyntax syntax = {});

}  // namespace pando::grammar
