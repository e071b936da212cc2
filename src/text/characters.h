// Classes of characters, as the published tokenizers count them.
#pragma once

#include <cstddef>
#include <string_view>

namespace pando {

bool is_space(char32_t point);      // Unicode's White_Space
bool is_word(char32_t point);       // a letter, mark, digit, connector or joiner
bool is_mark(char32_t point);       // combines with the character before it
bool is_accent(char32_t point);     // a mark without width
bool is_control(char32_t point);    // of category C, but for unassigned ones
bool is_ideograph(char32_t point);  // of the blocks of Chinese characters

// Length in bytes of the first cluster of characters (the extended grapheme cluster of Unicode's
// annex 29) of `text`, which is UTF-8 and not empty.
size_t cluster_length(std::string_view text);

// One character, or two for U+0130.
struct Lower {
  char32_t first;
  char32_t second = 0;
};
Lower to_lower(char32_t point);

}  // namespace pando
