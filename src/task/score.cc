#include "pando/score.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"

namespace pando {
namespace {

Request scoring_request(std::vector<Token> tokens, size_t from) {
  Request request;
  request.tokens = std::move(tokens);
  request.sampling.max_tokens = 0;
  request.prompt_logprobs_from = static_cast<int>(from);
  return request;
}

}  // namespace

Result<Request> continuation_request(const Model& model, std::string_view prefix,
                                     std::string_view continuation, bool add_bos) {
  Result<std::vector<Token>> before = model.encode(prefix, add_bos);
  if (!before) return before.error();
  Result<std::vector<Token>> whole =
      model.encode(std::string(prefix) + std::string(continuation), add_bos);
  if (!whole) return whole.error();
  const size_t n_common =
      std::mismatch(before->begin(), before->end(), whole->begin(), whole->end()).first -
      before->begin();
  if (n_common == 0)
    return invalid_argument("no token comes before the continuation, expected one at least");
  if (n_common == whole->size())
    return invalid_argument("the continuation is empty, expected one token at least");
  return scoring_request(std::move(*whole), n_common);
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

Result<std::vector<ContinuationScore>> score(Engine& engine, const std::string& prefix,
                                             const std::vector<std::string>& continuations) {
  std::vector<Request> requests;
  for (const std::string& continuation : continuations) {
    Result<Request> request = continuation_request(engine.model(), prefix, continuation);
    if (!request) return request.error();
    request->logits_hash = true;
    requests.push_back(std::move(*request));
  }
  auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  std::vector<ContinuationScore> scores;
  for (const std::vector<Completion>& completion : *completions)
    scores.push_back(continuation_score(completion[0]));
  return scores;
}

double Perplexity::perplexity() const {
  return std::exp(-log_likelihood / static_cast<double>(n_tokens));
}

double Perplexity::bits_per_byte() const {
  return -log_likelihood / std::log(2.0) / static_cast<double>(n_bytes);
}

Result<Perplexity> perplexity(Engine& engine, std::string_view text,
                              const PerplexityOptions& options) {
  Result<std::vector<Token>> encoded = engine.model().encode(text);
  if (!encoded) return encoded.error();
  Result<std::vector<Token>> nothing = engine.model().encode("");
  if (!nothing) return nothing.error();
  const std::vector<Token>& tokens = *encoded;
  const size_t n_start = nothing->size();  // tokens that every text begins with
  const int window = options.window > 0 ? options.window : engine.options().context;
  const int stride = options.stride > 0 ? options.stride : std::max(1, window / 2);
  const int longest = engine.options().context;
  if (window < 2 + static_cast<int>(n_start) || window > longest)
    return invalid_argument("window is {} tokens, expected {} to the context of {}", window,
                            2 + n_start, longest);
  if (options.stride < 0 || stride > window - static_cast<int>(n_start) - (n_start == 0))
    return invalid_argument("stride is {} tokens, expected 1 to {}", stride,
                            window - static_cast<int>(n_start) - (n_start == 0));
  if (tokens.size() < 2)
    return invalid_argument("the text has {} tokens, expected 2 at least", tokens.size());

  std::vector<Request> requests;
  for (size_t next = std::max<size_t>(n_start, 1); next < tokens.size();) {  // first not scored
    const size_t n_first = window - n_start;  // of the text, in any window
    const size_t end = requests.empty() ? std::min(tokens.size(), n_start + n_first)
                                        : std::min(tokens.size(), next + stride);
    const size_t begin = std::max(n_start, end - std::min(end, n_first));
    std::vector<Token> piece = *nothing;
    piece.insert(piece.end(), tokens.begin() + begin, tokens.begin() + end);
    requests.push_back(scoring_request(std::move(piece), n_start + next - begin));
    next = end;
  }
  Perplexity result{.n_bytes = text.size(), .n_windows = requests.size()};
  auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  for (const std::vector<Completion>& completion : *completions)
    for (const TokenLogprob& token : completion[0].prompt_logprobs) {
      result.log_likelihood += token.logprob;
      ++result.n_tokens;
    }
  return result;
}

}  // namespace pando
