// From a row of logits to a token.
#pragma once

#include <cstdint>
#include <span>

#include "pando/request.h"

namespace pando {

// Randomness is a function of these three alone: same key, same draw, whatever else runs.
struct SamplingKey {
  uint64_t seed;
  uint32_t choice;
  uint32_t position;  // of the token that is drawn
};

struct Sampled {
  Token token = 0;
  float logprob = 0;  // ln p under the unmodified distribution; only with `logprobs`
  uint64_t logits_hash = 0;
};

// Greedy at temperature 0: the largest logit, the lowest id among equals. Otherwise: divide by the
// temperature, keep the top_k likeliest, then the fewest of these whose probability reaches top_p,
// and draw. logits: [vocab] f32.
Token sample_token(std::span<const float> logits, const SamplingOptions& options,
                   const SamplingKey& key);

// ln of the softmax at one token, in double precision.
float log_probability(std::span<const float> logits, Token token);

// XXH3-64 over the raw bytes of a row, seeded with the hash of the rows before it.
uint64_t chain_hash(uint64_t hash, std::span<const float> logits);

// The seed of a request that brings none: from the engine's seed and the request's id, or its
// tokens where it has no id.
uint64_t derive_seed(uint64_t engine_seed, const Request& request);

}  // namespace pando
