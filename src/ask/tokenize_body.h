// Bodies of /tokenize and /detokenize, and their answers.
#pragma once

#include "base/json_fwd.h"
#include "pando/model.h"

namespace pando::ask {

// {"prompt" or "messages", ...} -> {"count", "max_model_len", "tokens", "token_strs"?}; `longest`:
// tokens that a request may have.
Result<Json> tokenize(const Model& model, size_t longest, const Json& body);
// {"tokens": [...]} -> {"prompt"}
Result<Json> detokenize(const Model& model, const Json& body);

}  // namespace pando::ask
