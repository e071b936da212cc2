// Texts as numbers, as Python's int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pando::jinja {

// Fails for a number of more than 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);
// Python's round(): rounds the exact value, halves to even.
double rounded(double value, int64_t precision);

}  // namespace pando::jinja
