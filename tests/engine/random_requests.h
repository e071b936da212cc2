// Requests of every kind, many of which begin alike.
#pragma once

#include <random>
#include <vector>

#include "pando/values/request.h"

namespace pando::testing {

inline std::vector<Request> random_requests(std::mt19937& rng, size_t longest) {
  std::vector<Request> requests(2 + rng() % 10);
  for (size_t i = 0; i < requests.size(); ++i) {
    Request& request = requests[i];
    request.logits_hash = true;
    if (i > 0 && rng() % 4 != 0) {  // a beginning of an earlier one
      request.tokens = requests[rng() % i].tokens;
      request.tokens.resize(1 + rng() % request.tokens.size());
    }
    const size_t n_more = request.tokens.empty() ? 2 + rng() % longest : rng() % 10;
    for (size_t k = 0; k < n_more; ++k)
      request.tokens.push_back(static_cast<Token>('a' + rng() % 3));
    if (request.tokens.size() < 2) request.tokens.push_back('z');
    request.sampling.max_tokens = 1 + static_cast<int>(rng() % 8);
    request.sampling.ignore_eos = true;
    const int n_prompt = static_cast<int>(request.tokens.size());
    switch (rng() % 5) {
      case 0:
        request.sampling.n = 1 + static_cast<int>(rng() % 3);
        request.sampling.temperature = 0.7;
        break;
      case 1:
        request.prompt_logprobs_from = 1 + static_cast<int>(rng() % (n_prompt - 1));
        request.sampling.max_tokens = static_cast<int>(rng() % 2);
        break;
      case 2:
        request.pooling = rng() % 2 == 0 ? Pooling::kMean : Pooling::kLast;
        break;
      default:
        break;
    }
    if (request.pooling == Pooling::kNone) request.cached = rng() % 4 != 0;
  }
  return requests;
}

}  // namespace pando::testing
