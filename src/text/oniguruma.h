// Regular expressions as published tokenizers write them.
#pragma once

#include <string>
#include <string_view>

#include "pando/result.h"

namespace pando {

// `pattern`, written in the Ruby syntax of Oniguruma (which those tokenizers are run with), as an
// expression of PCRE2 with UTF and UCP that matches the same. What the two read differently is
// written out (\s, \w, ., ^, $, scripts) or refused by name (kUnsupported): nothing passes unread.
Result<std::string> to_pcre2_pattern(std::string_view pattern);

// An expression of PCRE2 that matches `text` itself.
std::string literal_pattern(std::string_view text);

}  // namespace pando
