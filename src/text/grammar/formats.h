// The formats of JSON Schema whose texts are kept.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "text/grammar/regex.h"

namespace pando::grammar {

// The pattern of a format, which is for the whole text: "date", "email", ... Nothing: not offered.
std::optional<std::string_view> pattern_of_format(std::string_view name);

// The most characters of a text of the format, for formats whose pattern does not limit them.
size_t longest_of_format(std::string_view name);

// The names of all formats of texts and numbers, sorted.
std::span<const std::string_view> format_names();
bool is_known_format(std::string_view name);

// Bounds of a number format such as "int32"; a bound may be empty. Nothing: not offered.
struct NumberFormat {
  std::string_view least = {};
  std::string_view most = {};
};
std::optional<NumberFormat> bounds_of_format(std::string_view name);

}  // namespace pando::grammar
