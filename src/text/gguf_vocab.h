// The tokenizer of a GGUF file, from its metadata (tokenizer.ggml.*).
#pragma once

#include "base/gguf.h"
#include "text/word_tokenizer.h"

namespace pando {

// Models "gpt2" (merges, words by "pre"), "gemma4" (merges of texts), "llama" (scores), "t5"
// (Unigram) and "bert" (WordPiece).
// Other models, and names of "pre" without words here, are kUnsupported.
Result<TokenizerParts> read_gguf_vocab(const GgufFile& file);

}  // namespace pando
