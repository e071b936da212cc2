// Text as Python's str sees it: counted in characters, with Unicode's cases and spaces. All of it
// takes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "text/chat/jinja_value.h"
#include "text/utf8.h"

namespace pando::jinja {

size_t count_points(std::string_view text);
// Byte offset of character `index`; the end of the text if there is no such character.
size_t byte_of(std::string_view text, size_t index);
// Characters [begin, end) by step of one.
std::string_view points_between(std::string_view text, size_t begin, size_t end);
char32_t decode(std::string_view text);  // its first character

// The characters of a text, one after the other, each as the bytes that it has there.
class Characters {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = value_type;
    using iterator_category = std::input_iterator_tag;
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    std::string_view operator*() const { return rest_.substr(0, utf8_length(rest_[0])); }
    Iterator& operator++() {
      rest_.remove_prefix(utf8_length(rest_[0]));
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return rest_.size() == other.rest_.size(); }

   private:
    std::string_view rest_;
  };
  explicit Characters(std::string_view text) : text_(text) {}
  Iterator begin() const { return Iterator(text_); }
  Iterator end() const { return Iterator({}); }

 private:
  std::string_view text_;
};
inline Characters characters_of(std::string_view text) { return Characters(text); }
// Characters at start, start + step, ...: `count` of them, which must all exist.
std::string every_nth(std::string_view text, int64_t start, int64_t step, int64_t count);

// Offset of the first `piece` at or behind `from`, or npos; in time linear in the lengths of both.
size_t find_text(std::string_view text, std::string_view piece, size_t from = 0);
// Offset of the last `piece`, or npos; the bytes that are compared count as steps.
size_t find_last(std::string_view text, std::string_view piece, Budget* budget);
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
bool begins_name(char32_t point);  // str.isidentifier() for the first character
bool continues_name(char32_t point);

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

// str.split() and rsplit(), which gives the last piece first; `most` below zero: all.
using TakePiece = std::function<void(std::string_view)>;
void split_space(std::string_view text, int64_t most, bool from_right, const TakePiece& take);
void split_by(std::string_view text, std::string_view separator, int64_t most,
              const TakePiece& take);
void split_from_right(std::string_view text, std::string_view separator, int64_t most,
                      Budget* budget, const TakePiece& take);
void split_lines(std::string_view text, bool keep_ends, const TakePiece& take);
// Fails where the result would have more than `most_bytes`.
std::string replace(std::string_view text, std::string_view old, std::string_view by, int64_t most,
                    size_t most_bytes);
size_t count_of(std::string_view text, std::string_view piece);  // piece may be empty

std::string escape_html(std::string_view text);

}  // namespace pando::jinja
