// Requests for texts and pairs of texts as encoders read them: tokens with token types.
#pragma once

#include <optional>
#include <string_view>

#include "pando/model.h"
#include "pando/values/request.h"
#include "text/text_template.h"

namespace pando {

// The limit of a text or pair: `stated` if it is above 0, else that of the tokenizer's files, and
// at most the model's.
int most_pair_tokens(const Model& model, int stated);

// A request with the tokens and types of the text or pair, cut to the limit; without a pooling.
// Errors: as Tokenizer::encode_typed; kUnsupported without a tokenizer.
Result<Request> encoded_request(const Model& model, std::string_view text,
                                std::optional<std::string_view> second, const PairLimit& limit);

}  // namespace pando
