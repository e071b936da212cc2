// Texts as members of a gzip file, which stand one behind the other.
#pragma once

#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

std::string gzip_member(std::string_view text);
// kBadFile for bytes that are not one whole member.
Result<std::string> text_of_member(std::string_view member);

}  // namespace pando
