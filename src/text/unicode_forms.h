// Unicode normalization forms, n log n for any text.
#pragma once

#include <string>
#include <string_view>

namespace pando {

// `text`, which is UTF-8, in one of the forms.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };
std::string to_unicode_form(std::string_view text, UnicodeForm form);

}  // namespace pando
