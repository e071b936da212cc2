// The mark that some editors put at the beginning of a text file.
#pragma once

#include <string_view>

#include "pando/values/result.h"

namespace pando {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // U+FEFF in UTF-8

// The text without this mark. kBadFile for the mark of another encoding.
Result<std::string_view> without_mark(std::string_view text);

}  // namespace pando
