// Formatting of a value by a format specification: width, sign, digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pando::jinja {

constexpr int64_t kWidestField = 100000;

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =; none: by the type
  char sign = '-';    // - + or space
  bool alternate = false;
  char grouping = '\0';
  int64_t width = 0;
  std::optional<int64_t> precision;
  char type = '\0';
};

// Filled up to the width; the sign stays before zeros.
std::string padded(const FormatSpec& spec, std::string_view sign, const std::string& body,
                   char default_align);
std::string_view sign_text(bool negative, char wanted);
std::string digits_of(uint64_t value, char type);
std::string integer_text(int64_t value, const FormatSpec& spec);
std::string float_spec_text(double value, const FormatSpec& spec);
// Digits at `at`, which goes behind them; fails beyond kWidestField.
int64_t read_number(std::string_view text, size_t& at);

}  // namespace pando::jinja
