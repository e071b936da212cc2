// Unknown fields, for servers that leave them out instead of refusing them.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "pando/values/result.h"

namespace pando::ask {

// If the error refuses an unknown field, removes it from the body and returns its place, such as
// "messages[2].mood". Empty: it is another error, or the body has nothing at this place.
std::string remove_unknown_field(Json& body, const Error& error);
// A place as a word of a header: at most 128 of its bytes, those that are not visible ASCII and
// commas as %2C.
std::string header_word(std::string_view place);

}  // namespace pando::ask
