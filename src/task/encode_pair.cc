#include "task/encode_pair.h"

#include <algorithm>

#include "api/model_access.h"
#include "base/errors.h"

namespace pando {

int most_pair_tokens(const Model& model, int stated) {
  const int64_t own = model.info().max_positions;
  if (stated > 0) return static_cast<int>(std::min<int64_t>(stated, own));
  if (!model.has_tokenizer()) return static_cast<int>(own);
  return static_cast<int>(std::min(tokenizer_of(model)->limit().most_tokens.value_or(own), own));
}

Result<Request> encoded_request(const Model& model, std::string_view text,
                                std::optional<std::string_view> second, const PairLimit& limit) {
  const Tokenizer* tokenizer = tokenizer_of(model);
  if (tokenizer == nullptr) return unsupported("the model has no tokenizer, expected one");
  Result<TypedTokens> typed = tokenizer->encode_typed(text, second, limit);
  if (!typed) return typed.error();
  Request request;
  request.tokens = std::move(typed->tokens);
  request.cut_tokens = typed->n_cut;
  request.sampling.max_tokens = 1;  // needs no more room than the text
  const bool has_types = tokenizer->gives_types() && spec_of(model).n_token_types > 1;
  const bool differ = std::ranges::any_of(typed->types, [](uint8_t type) { return type != 0; });
  if (has_types && differ) request.token_types = std::move(typed->types);
  return request;
}

}  // namespace pando
