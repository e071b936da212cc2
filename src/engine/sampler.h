// Sampling: from a row of logits to a token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/values/request.h"

namespace pando {

// Randomness is a function of these three alone: same key, same draw, whatever else runs.
struct SamplingKey {
  uint64_t seed;
  uint32_t choice;
  uint32_t position;  // of the token that is drawn
};

// Tokens that the draw of the next token depends on: the history for penalties, and the masks.
struct TokenHistory {
  std::span<const Token> in_prompt;  // sorted, each once; only read with a repetition penalty
  std::span<const Token> answer;
  // Never drawn, unless no other token is left.
  std::span<const Token> barred;
  // One bit per token; token 0 is the lowest bit of the first word. Tokens without a set bit, or
  // behind the last word, are never drawn. At least one bit is set. Empty: no restriction.
  std::span<const uint64_t> allowed;
};

// Draws a token as SamplingOptions says. Greedy at temperature 0: the largest logit, the lowest id
// among equals. logits: [vocab] f32.
Token sample_token(std::span<const float> logits, const SamplingOptions& options,
                   const SamplingKey& key, const TokenHistory& history = {});

// True if sample_token gives the lowest id of the largest logit, unless it masks or bars tokens.
bool takes_largest(const SamplingOptions& options);

// ln of the softmax at each token, in double precision, with the n_top likeliest beside it.
std::vector<TokenLogprob> log_probabilities(std::span<const float> logits,
                                            std::span<const Token> tokens, int n_top = 0);
TokenLogprob log_probability(std::span<const float> logits, Token token, int n_top = 0);

// XXH3-64 over the raw bytes of a row, seeded with the hash of the rows before it.
uint64_t chain_hash(uint64_t hash, std::span<const float> logits);

// The seed of a request that brings none: from the engine's seed and the request's id, or its
// tokens where it has no id.
uint64_t derive_seed(uint64_t engine_seed, const Request& request);

}  // namespace pando
