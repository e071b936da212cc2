#include "pando/score.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/model_access.h"
#include "base/errors.h"
#include "task/scoring_request.h"

namespace pando {

Request scoring_request(std::vector<Token> tokens, size_t from) {
  Request request;
  request.tokens = std::move(tokens);
  request.sampling.max_tokens = 0;
  request.prompt_logprobs_from = static_cast<int>(from);
  return request;
}

Result<std::vector<Token>> encode_beginning(const Model& model, std::string_view text,
                                            bool add_bos) {
  Result<std::vector<Token>> tokens = model.encode(text, add_bos);
  if (tokens && add_bos) tokens->resize(tokens->size() - tokenizer_of(model)->n_behind());
  return tokens;
}

Result<std::vector<Request>> continuation_requests(const Model& model, std::string_view prefix,
                                                   std::span<const std::string> continuations,
                                                   bool add_bos) {
  if (Status status = check_continuations(continuations); !status) return status.error();
  Result<std::vector<Token>> before = encode_beginning(model, prefix, add_bos);
  if (!before) return before.error();
  if (before->empty())
    return blame("prompt", invalid_argument("the prompt is empty, expected at least one token "
                                            "before the continuations"));
  size_t n_common = before->size();
  std::vector<std::vector<Token>> texts;
  for (const std::string& continuation : continuations) {
    Result<std::vector<Token>> whole =
        encode_beginning(model, std::string(prefix) + continuation, add_bos);
    if (!whole) return whole.error();
    const auto [end, other] =
        std::mismatch(before->begin(), before->end(), whole->begin(), whole->end());
    n_common = std::min<size_t>(n_common, end - before->begin());
    texts.push_back(std::move(*whole));
  }
  if (n_common == 0)
    return invalid_argument(
        "the continuations change the first token of the prompt, expected at least one token "
        "before them that stays the same");
  std::vector<Request> requests;
  for (std::vector<Token>& tokens : texts) {
    const size_t index = requests.size();
    if (tokens.size() == n_common)
      return blame(
          place_in("continuations", index),
          invalid_argument("continuation {} adds no token after the prompt, expected at least one",
                           index));
    requests.push_back(scoring_request(std::move(tokens), n_common));
  }
  return requests;
}

Status check_continuations(std::span<const std::string> continuations) {
  for (size_t i = 0; i < continuations.size(); ++i)
    if (continuations[i].empty())
      return blame(
          place_in("continuations", i),
          invalid_argument("continuation {} is empty, expected at least one character", i));
  return {};
}

ContinuationScore continuation_score(const Completion& completion) {
  ContinuationScore score{.n_tokens = static_cast<int>(completion.prompt_logprobs.size()),
                          .logits_hash = completion.logits_hash};
  for (const TokenLogprob& token : completion.prompt_logprobs) {
    score.logprob += token.logprob;
    score.likeliest &= token.likeliest;
  }
  return score;
}

std::vector<Request> joined(std::vector<Request> requests) {
  const auto scores_one = [](const Request& request) {
    return request.prompt_logprobs_from == static_cast<int>(request.tokens.size()) - 1;
  };
  const auto differs_last = [](const Request& a, const Request& b) {
    return std::ranges::equal(std::span(a.tokens).first(a.tokens.size() - 1),
                              std::span(b.tokens).first(b.tokens.size() - 1));
  };
  std::vector<Request> fewer;
  for (Request& request : requests) {
    if (fewer.empty() || !scores_one(fewer.back()) || !scores_one(request) ||
        !differs_last(fewer.back(), request)) {
      fewer.push_back(std::move(request));
      continue;
    }
    std::vector<Token>& others = fewer.back().alternatives;
    others.push_back(request.tokens.back());
    others.insert(others.end(), request.alternatives.begin(), request.alternatives.end());
  }
  return fewer;
}

size_t first_of(std::span<const Request> requests, size_t which) {
  size_t first = which;
  for (const Request& earlier : requests.first(which)) first += earlier.alternatives.size();
  return first;
}

std::vector<Completion> taken_apart(std::span<const std::vector<Completion>> completions) {
  std::vector<Completion> apart;
  for (const std::vector<Completion>& completion : completions) {
    Completion one = completion[0];
    const std::vector<TokenLogprob> others = std::exchange(one.alternatives, {});
    apart.push_back(one);
    for (const TokenLogprob& other : others) {
      one.prompt_logprobs = {other};
      apart.push_back(one);
    }
  }
  return apart;
}

Result<std::vector<ContinuationScore>> score(Engine& engine, const std::string& prefix,
                                             const std::vector<std::string>& continuations) {
  Result<std::vector<Request>> requests =
      continuation_requests(engine.model(), prefix, continuations);
  if (!requests) return requests.error();
  *requests = joined(std::move(*requests));
  for (Request& request : *requests) request.logits_hash = true;
  auto completions = engine.complete_all(std::move(*requests));
  if (!completions) return completions.error();
  std::vector<ContinuationScore> scores;
  for (const Completion& completion : taken_apart(*completions))
    scores.push_back(continuation_score(completion));
  return scores;
}

}  // namespace pando
