// vocab.json with merges.txt (or encoder.json with vocab.bpe, the names of GPT-2): byte-level
// encoding whose words follow from the tokenizer_class of tokenizer_config.json.
#pragma once

#include "text/word_tokenizer.h"

namespace pando {

struct VocabMergesFiles {
  std::filesystem::path vocab;
  std::filesystem::path merges;
};
// The pair that the directory holds, or nothing.
std::optional<VocabMergesFiles> find_vocab_merges(const std::filesystem::path& directory);

Result<TokenizerParts> read_vocab_merges(const VocabMergesFiles& files,
                                         const TokenizerConfig& config);

}  // namespace pando
