// Numbers of a schema in decimal, exactly, and the texts of numbers that they bound.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "text/grammar/char_dfa.h"
#include "text/grammar/regex.h"

namespace pando::grammar {

struct Decimal {
  bool is_negative = false;
  std::string whole = "0";  // without leading zeros
  std::string fraction;     // without trailing zeros

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
};

// Value of a number that parse_json read with LargeNumbers::kKept; nothing if it has more
// than 400 digits or is no number.
std::optional<Decimal> decimal_of(const nlohmann::ordered_json& number);
std::string text_of(const Decimal& number);  // as JSON: 1 for 1.0
bool is_less(const Decimal& a, const Decimal& b);

// Numbers of JSON: with a fraction and an exponent where it is not an integer.
Regex integer_texts();
Regex number_texts();
// Matches the same with at most 18 digits on each side of the point and 2 of an exponent, so that a
// reader that has only doubles reads no infinity.
Regex short_integer_texts();
Regex short_number_texts();
// Numbers without exponent that are at least or at most `bound`, or above or below it. Together
// with integer_texts() these are the integers.
Regex texts_from(const Decimal& bound, bool is_above);
Regex texts_to(const Decimal& bound, bool is_below);
// All ways without exponent to write one number.
Regex texts_equal(const Decimal& number);
// Numbers without exponent that are a multiple; nothing if that takes too many states.
std::optional<CharDfa> multiples_of(const Decimal& divisor);

}  // namespace pando::grammar
