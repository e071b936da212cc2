// Prompts of random tokens with the sharing that a workload has.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "bench/harness.h"
#include "pando/values/request.h"

namespace pando::bench {

class RandomTokens {
 public:
  RandomTokens(uint64_t seed, int vocab) : random_(seed), vocab_(vocab) {}
  std::vector<Token> operator()(int n);

 private:
  std::mt19937_64 random_;
  int vocab_;
};

std::vector<Token> joined(const std::vector<Token>& a, const std::vector<Token>& b);

// A request for an answer of exactly n_tokens, the likeliest.
Request request_of(std::vector<Token> tokens, int n_tokens);

// Prompts that begin alike, each asked for an answer of its own.
struct SharedPrompts {
  int n_prompts, n_shared, n_own;  // the latter two in tokens
  int n_answer = 1;
  bool is_warm = false;  // the shared tokens are computed before time is taken
  bool is_kept = false;  // and are the same in every repetition; otherwise all tokens are new in
                         // each
};
MakeWorkload shared_prompts(const SharedPrompts& shape, int vocab);

// Sizes of questions about contexts, in tokens (IPPD, section 3).
struct QaShape {
  int instruction, context, question, answer;
  double questions;  // of a context; the mean where it is no integer

  int n_prompt() const { return instruction + context + question; }
};
// One request for each question of `n_contexts` contexts.
std::vector<Request> questions_of(const QaShape& shape, int n_contexts, RandomTokens& random);

size_t all_tokens(const std::vector<Request>& requests);
// Nodes of the requests' trie: tokens to compute if none is computed twice.
size_t distinct_tokens(const std::vector<Request>& requests);

}  // namespace pando::bench
