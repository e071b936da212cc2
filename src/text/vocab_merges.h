// vocab.json with merges.txt (or encoder.json with vocab.bpe, the names of GPT-2): byte-level
// encoding whose words follow from the tokenizer_class of tokenizer_config.json.
#pragma once

#include "base/model_path.h"
#include "text/word_tokenizer.h"

namespace pando {

struct VocabMergesFiles {
  ModelPath vocab;
  ModelPath merges;
};
// The pair that the directory holds, or nothing.
std::optional<VocabMergesFiles> find_vocab_merges(const ModelPath& directory);

Result<TokenizerParts> read_vocab_merges(const VocabMergesFiles& files,
                                         const TokenizerConfig& config);

}  // namespace pando
