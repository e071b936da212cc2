// Expressions of our own, for PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// Translates `pattern` from the Ruby syntax of Oniguruma (which runs published tokenizers) to an
// expression of PCRE2 with UTF and UCP that matches the same. Syntax that the two read differently
// is written out (\s, \w, ., ^, $, scripts) or refused by name (kUnsupported): nothing passes
// unread.
Result<std::string> to_pcre2_pattern(std::string_view pattern);

}  // namespace pando
