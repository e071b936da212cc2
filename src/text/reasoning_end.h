// The text that ends the reasoning of an answer before the model does.
#pragma once

#include <string_view>

#include "text/answer_decoder.h"

namespace pando {

// What the model writes itself between its reasoning and the rest of an answer. In the channels of
// gpt-oss, without tools, it opens the channel "final" too. Empty if the request's answers are not
// divided, or if the model marks no reasoning.
std::string_view reasoning_end(const Tokenizer& tokenizer, const AnswerFormat& format,
                               const Request& request);

}  // namespace pando
