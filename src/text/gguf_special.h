// Special tokens of a GGUF file's vocabulary: from its keys, or llama.cpp's defaults if they are
// missing.
#pragma once

#include "base/gguf.h"
#include "text/spm_model.h"
#include "text/word_tokenizer.h"

namespace pando {

// Special tokens of a kind of tokenizer if the file does not name others.
struct GgufDefaults {
  std::optional<Token> bos;
  std::optional<Token> eos;
  std::optional<Token> unknown;
  std::optional<Token> separator;
  bool puts_bos = false;
  bool puts_eos = false;
  bool puts_separator = false;   // after a text
  bool parts_pairs = false;      // a separator more between the texts of a pair
  int second_type = 0;           // token type of the second text of a pair
  bool always_puts_bos = false;  // whatever the file says
};
// `model`: the value of tokenizer.ggml.model.
GgufDefaults gguf_defaults(std::string_view model);

// The token that `key` (without "tokenizer.ggml.") names, else `otherwise` where that is an id
// below `n_tokens`, else nothing.
Result<std::optional<Token>> gguf_token(const GgufFile& file, std::string_view key, size_t n_tokens,
                                        std::optional<Token> otherwise = std::nullopt);
Result<bool> gguf_flag(const GgufFile& file, std::string_view key, bool if_absent);

// Tokens whose text ends an answer, whatever their type: they become control tokens. Returns their
// ids.
std::vector<Token> find_gguf_ends(std::vector<Piece>* pieces);

// Fills in `special` and `warnings`. `ends`: from find_gguf_ends().
Status find_gguf_special(const GgufFile& file, const std::vector<Piece>& pieces,
                         const std::vector<Token>& ends, const GgufDefaults& defaults,
                         TokenizerParts* parts);

}  // namespace pando
