// Embeddings in the form of the OpenAI API.
#pragma once

#include "ask/openai_response.h"
#include "base/json.h"

namespace pando::ask {

// A JSON list of numbers, each with as many digits as its value needs.
Json values_json(const std::vector<float>& values);
// The vectors of a text's tokens, as token_vectors_of gives them.
Json token_vectors_json(const Completion& completion, const EmbedOptions& options);

// A vector as numbers, or as base64 of its f32 values.
Json vector_json(const AnswerForm& form, const Completion& completion);

// {"object": "list", "data": [{"object": "embedding", "index", "embedding"}, ...], "model",
// "usage"}; vectors of length 1, unless the model's files say otherwise. usage.cut_tokens: the
// number of tokens cut, if any.
Json embeddings_body(const AnswerForm& form, const Envelope& envelope,
                     std::span<const std::vector<Completion>> completions);

}  // namespace pando::ask
