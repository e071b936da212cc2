// One text or a pair of texts between special tokens, with token types, as models of pairs read
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando {

// A text of the pair or a special token.
struct TemplatePart {
  int text = -1;    // 0 or 1: the tokens of this text; -1: `token`
  Token token = 0;  // special
  int type = 0;     // token type, in [0, 255]
};
struct TextTemplates {
  std::vector<TemplatePart> single;
  std::vector<TemplatePart> pair;  // empty: the tokenizer has no form for pairs
};

// The templates that put the same tokens around each text: before A after [between] B after. The
// second text has type `second_type`, with the tokens after it.
TextTemplates templates_around(std::span<const Token> before, std::span<const Token> after,
                               std::span<const Token> between = {}, int second_type = 0);

// The limit of a text or pair, in tokens, with the special tokens.
struct PairLimit {
  enum class Cut {
    kLongestFirst,  // the longer text, and both from equal lengths on
    kFirst,         // the first text alone
    kSecond,        // the second text alone
  };
  int most_tokens = 0;  // 0: no limit
  Cut cut = Cut::kLongestFirst;
  bool at_end = true;  // a text loses its end; false: its beginning
};

struct TypedTokens {
  std::vector<Token> tokens;
  std::vector<uint8_t> types;  // [tokens]
  int n_cut = 0;               // tokens that the limit cut
};

// Joins texts, one or two, as the library `tokenizers` does. kUnsupported for a pair without a
// template; kInvalidArgument if the text to be cut is shorter than what must go.
Result<TypedTokens> join_texts(const TextTemplates& templates,
                               std::vector<std::vector<Token>> texts, const PairLimit& limit);

}  // namespace pando
