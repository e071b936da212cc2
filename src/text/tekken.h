// Mistral's own tokenizer file, tekken.json: byte-pair encoding by ranks, the expression that cuts
// text into words, and special tokens, which have the lowest ids.
#pragma once

#include "text/word_tokenizer.h"

namespace pando {

// True if a document has the form of a tekken.json.
bool is_tekken(const JsonPlace& root);

// Special tokens that are written out in a text are found, as with every other format.
Result<TokenizerParts> read_tekken(const JsonPlace& root, const TokenizerConfig& config);

}  // namespace pando
