// Finds the known name that is nearest to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// The member of `known` that the fewest changes of characters turn `name` into. A member that
// begins with `name`, or with words near it, is near too ("--api-key-file" to "--api-kye"). Of
// equally near ones, the last. Empty if none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// " (hint: 'NAME'?)" with the nearest name, or nothing.
std::string nearest_hint(std::string_view name, std::span<const std::string_view> known);

// Returns the error with that name as its hint, if one is near.
Error with_nearest(std::string_view name, std::span<const std::string_view> known, Error error);

}  // namespace pando
