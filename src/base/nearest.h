// The name that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

// That of `known` which fewest characters turn `name` into, or which begins with `name` or with
// words so near ("--api-kye" of "--api-key-file"); of several the last. Empty where none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// " (hint: 'NAME'?)" with the nearest name, or nothing.
std::string nearest_hint(std::string_view name, std::span<const std::string_view> known);

// All of `known` that are so near, the nearest first, and equally near ones in their order.
std::vector<std::string_view> nearest_names(std::string_view name,
                                            std::span<const std::string_view> known);

}  // namespace pando
