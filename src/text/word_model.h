// Turns one word into tokens.
#pragma once

#include <bitset>
#include <string_view>
#include <vector>

#include "pando/values/token.h"

namespace pando {

// Immutable once built; any thread.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the tokens of `word`, which is UTF-8.
  virtual void encode(std::string_view word, std::vector<Token>* tokens) const = 0;
  // ASCII characters that one token may have together with a space after them. After any other
  // character, a word's tokens are those of its text before the space and of its text from the
  // space on. `space`: what stands for a space in words.
  virtual std::bitset<128> joined_to(std::string_view /*space*/) const {
    return std::bitset<128>().set();
  }
  // True if tokens inside a word differ from those that begin one, and for such a token.
  virtual bool marks_words() const { return false; }
  virtual bool is_inside_word(Token) const { return false; }
};

}  // namespace pando
