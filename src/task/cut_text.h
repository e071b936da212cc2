// Texts cut to a number of tokens.
#pragma once

#include <string>

#include "pando/model.h"

namespace pando {

// Number of tokens of a text, without special tokens around it. Errors: as Model::encode.
Result<size_t> n_tokens(const Model& model, const std::string& text);

// The text of its first `n` tokens, or with at_end false of its last; a text with no more, or one
// that cannot be tokenised, as it is. Characters that would be cut in two are left out.
std::string cut_text(const Model& model, const std::string& text, size_t n, bool at_end);

// The most tokens of a text, as in sentence-transformers: `stated` by the model's files, or else,
// with `has_modules`, the smaller of model_max_length and the model's own length. 0: no limit.
int most_tokens(const Model& model, int stated, bool has_modules);

}  // namespace pando
