#include "engine/sampler.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/fault.h"
#include "base/mix.h"

namespace pando {
namespace {

// Uniform in [0, 1), 53 bits.
double uniform(const SamplingKey& key) {
  const uint64_t position = fault_on(Fault::kWrongCounterKey) ? 0 : key.position;
  const uint64_t counter = (uint64_t{key.choice} << 32 | position) + 0x9e3779b97f4a7c15u;
  return static_cast<double>(mix64(mix64(key.seed) ^ mix64(counter)) >> 11) * 0x1p-53;
}

Token argmax(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best]) best = i;
  return static_cast<Token>(best);
}

}  // namespace

Token sample_token(std::span<const float> logits, const SamplingOptions& options,
                   const SamplingKey& key) {
  if (options.temperature <= 0 || options.top_k == 1) return argmax(logits);

  std::vector<Token> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const bool by_rank = options.top_k > 0 || options.top_p < 1;
  if (by_rank) {
    size_t n = tokens.size();
    if (options.top_k > 0) n = std::min(n, static_cast<size_t>(options.top_k));
    const auto likelier = [&](Token a, Token b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    std::partial_sort(tokens.begin(), tokens.begin() + n, tokens.end(), likelier);
    tokens.resize(n);
  }
  const double largest = by_rank ? logits[tokens[0]] : logits[argmax(logits)];
  std::vector<double> weights(tokens.size());
  double sum = 0;
  for (size_t i = 0; i < tokens.size(); ++i)
    sum += weights[i] = std::exp((logits[tokens[i]] - largest) / options.temperature);
  if (options.top_p < 1) {
    double kept = 0;
    size_t n = 0;
    while (n < weights.size() && kept < options.top_p * sum) kept += weights[n++];
    weights.resize(n);
    sum = kept;
  }
  double left = uniform(key) * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return tokens[i];
  }
  return tokens[weights.size() - 1];  // rounding left a sliver behind the last one
}

float log_probability(std::span<const float> logits, Token token) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return static_cast<float>(logits[token] - largest - std::log(sum));
}

uint64_t chain_hash(uint64_t hash, std::span<const float> logits) {
  return XXH3_64bits_withSeed(logits.data(), logits.size_bytes(), hash);
}

uint64_t derive_seed(uint64_t engine_seed, const Request& request) {
  const uint64_t identity =
      request.id.empty() ? XXH3_64bits(request.tokens.data(), request.tokens.size() * sizeof(Token))
                         : XXH3_64bits(request.id.data(), request.id.size());
  return mix64(mix64(engine_seed + 0x9e3779b97f4a7c15u) ^ identity);
}

}  // namespace pando
