// Requests that score tokens of their prompt and generate none.
#pragma once

#include <string_view>
#include <vector>

#include "pando/model.h"
#include "pando/request.h"

namespace pando {

// Of the tokens from index `from` on.
Request scoring_request(std::vector<Token> tokens, size_t from);

// Without what the tokenizer puts behind a whole text: this one goes on, or is a part of one.
Result<std::vector<Token>> encode_beginning(const Model& model, std::string_view text,
                                            bool add_bos = true);

}  // namespace pando
