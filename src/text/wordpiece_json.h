// The model WordPiece of a tokenizer.json, and vocab.txt, BERT's own file of it.
#pragma once

#include <memory>

#include "text/vocab.h"
#include "text/word_model.h"
#include "text/word_tokenizer.h"

namespace pando {

// True for a model of type WordPiece, or one without a type that has its fields.
bool is_wordpiece(const JsonPlace& model);
// kBadFile if the vocabulary lacks `unk_token`.
Result<std::unique_ptr<const WordModel>> read_wordpiece(const JsonPlace& model, const Vocab& vocab);

// Reads vocab.txt, a line for each token, as the classes BertTokenizer and DistilBertTokenizer of
// the transformers library do. kUnsupported for other classes.
Result<TokenizerParts> read_vocab_txt(const ModelPath& directory, const TokenizerConfig& config);

}  // namespace pando
