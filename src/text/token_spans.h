// Token spans say where tokens lie in the text that they come from.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

// The text [begin, end) of a token, in bytes, whole characters without spaces around them.
struct TokenSpan {
  size_t begin = 0, end = 0;
  // The token goes on with the word of the token before it. Tokenizers that do not mark such tokens
  // count those that no space stands before.
  bool goes_on = false;
};

struct SpanRules {
  // The normal form of one character of the text.
  std::function<std::string(std::string_view)> normalise;
  bool marks_words = false;  // tokens say if they are inside a word
};

struct TokenPiece {
  std::string text;          // inside a longer text
  bool inside_word = false;  // by its mark
};

// `pieces`: all tokens of `text` in order. A piece that is not found stands for the unknown text
// before the next piece or space.
std::vector<TokenSpan> find_token_spans(std::string_view text, std::span<const TokenPiece> pieces,
                                        const SpanRules& rules);

}  // namespace pando
