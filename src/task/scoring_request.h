// Requests that score tokens of their prompt and generate none.
#pragma once

#include <string_view>
#include <vector>

#include "pando/model.h"
#include "pando/values/request.h"

namespace pando {

// Scores the tokens from index `from` on.
Request scoring_request(std::vector<Token> tokens, size_t from);

// Tokens of a text that goes on: the tokens that end a whole text are left out.
Result<std::vector<Token>> encode_beginning(const Model& model, std::string_view text,
                                            bool add_bos = true);

}  // namespace pando
