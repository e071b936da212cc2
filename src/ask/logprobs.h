// Log-probabilities in the forms of the API, as texts that json_text() writes (written_json).
// Every number is printed as the shortest text that reads back as the same f32.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "pando/model.h"
#include "pando/values/request.h"

namespace pando::ask {

// The double whose shortest text is also the shortest text of `value`.
double printed(float value);

// The log-probabilities of the tokens that an answer's text comes from: those of a text that
// stopped it, and of what stands behind that, are left out.
std::span<const TokenLogprob> reported_logprobs(const Model& model, const Request& request,
                                                const Completion& completion);

// True if only the end of an answer tells which tokens its text comes from: a stop text may be in
// text that the tokenizer's decoder holds back.
bool tells_at_end(const Model& model, const Request& request);

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}, ...]}
Json chat_logprobs(const Model& model, std::span<const TokenLogprob> tokens);

// The four lists of a completion, an entry for each token. Tokens that are no whole characters are
// written "bytes:\xe2", those without text "token_id:7", so that these look unlike each other.
class TokenLists {
 public:
  explicit TokenLists(const Model& model) : model_(&model) {}

  // A token that nothing comes before has no likelihood.
  void add_first(Token token) { add(token, nullptr, nullptr); }
  // Beside each token the likeliest ones, and itself.
  void add_all(std::span<const TokenLogprob> tokens);
  // Characters of a text that has no entry.
  void skip(const std::string& text);
  // Takes what was added since the last call.
  Json take();

 private:
  void add(Token token, const Json& logprob, const Json& top);

  const Model* model_;
  ListText texts_, logprobs_, top_, offsets_;
  size_t offset_ = 0;
};

}  // namespace pando::ask
