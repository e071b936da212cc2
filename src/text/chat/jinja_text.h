// Text as Python's str sees it: counted in characters, with Unicode's cases and spaces. All of it
// takes UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando::jinja {

size_t count_points(std::string_view text);
// Where character `index` begins; the end of the text where there is none.
size_t byte_of(std::string_view text, size_t index);
// Characters [begin, end) by step of one.
std::string_view points_between(std::string_view text, size_t begin, size_t end);
std::vector<std::string_view> characters_of(std::string_view text);
char32_t decode(std::string_view character);
std::string encode(char32_t point);

bool is_python_space(char32_t point);  // str.isspace()
bool is_printable(char32_t point);
bool is_alpha(char32_t point);
bool is_decimal(char32_t point);  // of category Nd
bool is_digit(char32_t point);    // these, and superscripts and the like
bool is_numeric(char32_t point);
bool is_upper(char32_t point);
bool is_lower(char32_t point);
bool is_title(char32_t point);

std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string casefold(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  // str.title(), which is not the filter
std::string swapcase(std::string_view text);
std::string upper_first(std::string_view character);  // as the first letter of a title

enum class Side { kLeft, kRight, kBoth };
std::string_view strip_space(std::string_view text, Side side);
std::string_view strip_chars(std::string_view text, std::string_view chars, Side side);

// str.split() and rsplit(); `most` below zero: all.
std::vector<std::string_view> split_space(std::string_view text, int64_t most, bool from_right);
std::vector<std::string_view> split_by(std::string_view text, std::string_view separator,
                                       int64_t most, bool from_right);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
// Fails where the result would have more than `most_bytes`.
std::string replace(std::string_view text, std::string_view old, std::string_view by, int64_t most,
                    size_t most_bytes);
size_t count_of(std::string_view text, std::string_view piece);  // piece may be empty

std::string escape_html(std::string_view text);

}  // namespace pando::jinja
