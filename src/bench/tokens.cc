#include "bench/tokens.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pando::bench {

std::vector<Token> RandomTokens::operator()(int n) {
  std::vector<Token> tokens(static_cast<size_t>(n));
  for (Token& token : tokens) token = static_cast<Token>(random_() % static_cast<uint64_t>(vocab_));
  return tokens;
}

std::vector<Token> joined(const std::vector<Token>& a, const std::vector<Token>& b) {
  std::vector<Token> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

Request request_of(std::vector<Token> tokens, int n_tokens) {
  Request request;
  request.tokens = std::move(tokens);
  request.sampling.max_tokens = n_tokens;
  request.sampling.ignore_eos = true;
  return request;
}

MakeWorkload shared_prompts(const SharedPrompts& shape, int vocab) {
  return [=](int repetition) {
    const uint64_t seed = static_cast<uint64_t>(repetition) + 1;
    RandomTokens random(shape.is_kept ? seed + 1 : seed, vocab);
    const std::vector<Token> shared =
        shape.is_kept ? RandomTokens(1, vocab)(shape.n_shared) : random(shape.n_shared);
    Workload workload;
    if (shape.is_warm) workload.warm.push_back(request_of(shared, 1));
    for (int i = 0; i < shape.n_prompts; ++i)
      workload.timed.push_back(request_of(joined(shared, random(shape.n_own)), shape.n_answer));
    return workload;
  };
}

std::vector<Request> questions_of(const QaShape& shape, int n_contexts, RandomTokens& random) {
  std::vector<Request> requests;
  const std::vector<Token> instruction = random(shape.instruction);
  for (int i = 0; i < n_contexts; ++i) {
    const std::vector<Token> beginning = joined(instruction, random(shape.context));
    const auto asked = [&](int n) { return static_cast<int>(std::lround(n * shape.questions)); };
    for (int q = asked(i); q < asked(i + 1); ++q)
      requests.push_back(request_of(joined(beginning, random(shape.question)), shape.answer));
  }
  return requests;
}

size_t all_tokens(const std::vector<Request>& requests) {
  size_t n = 0;
  for (const Request& request : requests)
    n += request.tokens.size() * static_cast<size_t>(request.sampling.n);
  return n;
}

size_t distinct_tokens(const std::vector<Request>& requests) {
  std::vector<std::pair<uint64_t, const std::vector<Token>*>> all;
  for (const Request& request : requests) all.emplace_back(request.isolation_key, &request.tokens);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  size_t n = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<Token>& tokens = *all[i].second;
    n += tokens.size();
    if (i == 0 || all[i].first != all[i - 1].first) continue;
    const std::vector<Token>& before = *all[i - 1].second;
    const auto end = std::min(tokens.size(), before.size());
    n -= static_cast<size_t>(std::mismatch(tokens.begin(),
                                           tokens.begin() + static_cast<std::ptrdiff_t>(end),
                                           before.begin())
                                 .first -
                             tokens.begin());
  }
  return n;
}

}  // namespace pando::bench
