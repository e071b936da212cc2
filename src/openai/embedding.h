// Embeddings in the form of the OpenAI API.
#pragma once

#include <nlohmann/json.hpp>

#include "openai/response.h"

namespace pando::openai {

// {"object": "list", "data": [{"object": "embedding", "index", "embedding"}, ...], "model",
// "usage"}; vectors of length 1, unless the model's files say otherwise.
nlohmann::ordered_json embeddings_body(const AnswerForm& form, const Envelope& envelope,
                                       const Completions& completions);

}  // namespace pando::openai
