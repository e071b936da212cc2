// Tokens to text, also one token at a time.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace pando {

// The text of a token sequence as it grows. Never emits part of a UTF-8 character: bytes wait until
// the character is whole; bytes that can no longer become one are emitted as U+FFFD.
class StreamDecoder {
 public:
  // `first_in_text`: the sequence begins a text, so a leading space put there by the tokenizer
  // goes. `skip_special`: special tokens give no text.
  StreamDecoder(const Tokenizer& tokenizer, bool first_in_text, bool skip_special = true);

  // The text that became complete with this token; may be empty.
  std::string push(Token token);
  // What was still incomplete, as one U+FFFD.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool strip_space_;
  bool skip_special_;
  std::string pending_;  // at most three bytes: a character not yet whole
};

// The text of a whole sequence from its first token on.
std::string decode(const Tokenizer& tokenizer, std::span<const Token> tokens, bool skip_special);
// The text of one token inside a longer text. A special token has its text too.
std::string decode_piece(const Tokenizer& tokenizer, Token token);

}  // namespace pando
