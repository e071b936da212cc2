// tokenizer.json, the format of the Hugging Face tokenizers library.
#pragma once

#include "text/word_tokenizer.h"

namespace pando {

// Reads byte-pair encoding and unigram models, byte-level or with byte fallback. Other models and
// steps are refused by name (kUnsupported).
Result<TokenizerParts> read_tokenizer_json(const JsonPlace& root, const TokenizerConfig& config);

}  // namespace pando
