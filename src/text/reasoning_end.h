// The text that ends the reasoning of an answer when its budget is spent.
#pragma once

#include <string_view>

#include "text/answer_decoder.h"

namespace pando {

// The text that the model itself writes between its reasoning and the rest of an answer. In the
// channels of gpt-oss, without tools, it also opens the channel "final". Empty if the
// request's answers are not divided, or if the model marks no reasoning.
std::string_view reasoning_end(const Tokenizer& tokenizer, const AnswerFormat& format,
                               const Request& request);

}  // namespace pando
