// The Unigram vocabulary of a GGUF file: tokenizer.ggml.model is "t5".
#pragma once

#include <vector>

#include "base/gguf.h"
#include "text/spm_model.h"
#include "text/word_tokenizer.h"

namespace pando {

// All but the tokens around a text and those that are written out in it. Text is normalised as
// SentencePiece and llama.cpp do it, by the longest text of the character map. `pieces`: by id;
// `unknown`: where the file names none.
Result<TokenizerParts> read_gguf_unigram(const GgufFile& file, const std::vector<Piece>& pieces,
                                         std::optional<Token> unknown);

}  // namespace pando
