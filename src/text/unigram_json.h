// The model Unigram of a tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/json_file.h"
#include "text/vocab.h"
#include "text/word_model.h"

namespace pando {

// True if a model is a Unigram. Old files leave out the type; only a Unigram has a list as its
// vocabulary.
bool is_unigram(const JsonPlace& model);

// [[text, score], ...], by id.
Result<Vocab> read_unigram_vocab(const JsonPlace& place);

// `vocab` is that of `model`. Adds a warning if the model drops characters.
Result<std::unique_ptr<const WordModel>> read_unigram(const JsonPlace& model, const Vocab& vocab,
                                                      bool byte_level,
                                                      std::vector<std::string>* warnings);

}  // namespace pando
