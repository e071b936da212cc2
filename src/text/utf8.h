// UTF-8, one character at a time. All of it follows table 3-7 of the Unicode Standard.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pando {

enum class Utf8Kind {
  kCharacter,  // a whole character
  kInvalid,    // bytes that no continuation makes a character
  kTruncated,  // the text ends inside a character
};

struct Utf8Step {
  Utf8Kind kind;
  int length;      // bytes; of the maximal subpart if there is no character
  char32_t point;  // of a character, else 0
};

// First step of `text`, which is not empty.
Utf8Step next_utf8(std::string_view text);

void append_utf8(char32_t point, std::string* out);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Moves whole characters from the front of `*bytes` to `*text`, and each maximal subpart of an
// ill-formed sequence as one U+FFFD.
void take_characters(std::string* bytes, std::string* text);

// The length in bytes of the character whose first byte is `lead`, in text known to be UTF-8.
inline int utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// True if a byte of text known to be UTF-8 is the first of a character.
inline bool begins_character(char c) { return (c & 0xC0) != 0x80; }

// The character before the end of `text`, which is known to be UTF-8 and not empty.
std::string_view last_character(std::string_view text);

// The offset of the first byte that is not UTF-8, or nothing. Surrogates, overlong forms and
// values above U+10FFFF are not UTF-8.
std::optional<size_t> find_invalid_utf8(std::string_view text);

}  // namespace pando
