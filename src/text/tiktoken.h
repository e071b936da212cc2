// Vocabularies in the form of the tiktoken library: lines of a token in base64 and its rank. The
// file holds neither the words nor the special tokens: both follow from the number of tokens.
#pragma once

#include "text/word_tokenizer.h"

namespace pando {

bool is_tiktoken(std::string_view content);

// Llama 3 (128,000 tokens) and cl100k (100,256); others are refused. Special tokens are those of
// `config`, where it names any, else those of that vocabulary as first published.
Result<TokenizerParts> read_tiktoken(const std::string& content, const std::string& file,
                                     const TokenizerConfig& config);

}  // namespace pando
