// Tokens to text, also one token at a time.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "text/decoder_run.h"
#include "text/tokenizer.h"

namespace pando {

// The text of a token sequence as it grows. Never emits part of a UTF-8 character: bytes wait until
// the character is whole; bytes that can no longer become one are emitted as U+FFFD. Text that a
// later token may change waits too.
class StreamDecoder {
 public:
  // `first_in_text`: the sequence begins a text, so a leading space put there by the tokenizer
  // goes. `skip_special`: special tokens give no text.
  StreamDecoder(const Tokenizer& tokenizer, bool first_in_text, bool skip_special = true);

  // The sequence continues these tokens, whose text was shown. Call it before push().
  void follow(std::span<const Token> before);

  // The text that became final with this token; may be empty.
  std::string push(Token token);
  // The waiting text, with U+FFFD for an incomplete character. `ends`: the text ends here.
  std::string finish(bool ends = true);

  // Bytes that wait for the rest of their character. Nothing if texts of tokens depend on others.
  std::optional<size_t> n_waiting() const {
    return run_ ? std::nullopt : std::optional(pending_.size());
  }

 private:
  // Tokens before a sequence that it reads, counted from the end: many more than a decoder's steps
  // look back.
  static constexpr size_t kMostBefore = 64;

  std::string decoded(Token token);
  std::string without_shown(std::string text);

  const Tokenizer* tokenizer_;
  bool strip_space_;
  bool skip_special_;
  std::string pending_;            // at most three bytes: a character not yet whole
  std::optional<DecoderRun> run_;  // used instead if tokens change the text of others
  std::string shown_;              // the part of the earlier text that waits in run_
};

// The text of a whole sequence from its first token on.
std::string decode(const Tokenizer& tokenizer, std::span<const Token> tokens, bool skip_special);
// The text of one token inside a longer text. A special token has its text too.
std::string decode_piece(const Tokenizer& tokenizer, Token token);

}  // namespace pando
