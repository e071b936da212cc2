// Byte-pair encoding by scores: merges the two neighbouring pieces whose joined text is the piece
// with the best score. For models of SentencePiece files and GGUF "llama" vocabularies.
#pragma once

#include "text/spm_model.h"
#include "text/word_tokenizer.h"

namespace pando {

struct ScoredVocab {
  std::vector<Piece> pieces;  // by id
  bool byte_fallback = false;
  std::optional<Token> unknown;  // else the first piece of that type, if there is one
  bool puts_space_first = true;
  bool removes_spaces = false;
};

// All but the special tokens around a text; user-defined pieces are looked for in normalised text.
// kUnsupported if a character of a normal piece is no piece; `file` is for messages.
Result<TokenizerParts> make_score_parts(const ScoredVocab& vocab, const std::string& file);

}  // namespace pando
