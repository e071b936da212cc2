// Sampling as engine/sampler.h describes it, written a second time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "pando/values/request.h"

namespace pando::reference {

inline uint64_t splitmix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The logits after bias and penalties, as docs/answers.md says.
inline std::vector<float> adjusted(std::span<const float> logits, const SamplingOptions& options,
                                   std::span<const Token> prompt, std::span<const Token> answer) {
  std::vector<float> out(logits.begin(), logits.end());
  for (Token token = 0; token < static_cast<Token>(out.size()); ++token) {
    const auto bias = options.logit_bias.find(token);
    if (bias != options.logit_bias.end())
      out[token] = static_cast<float>(out[token] + bias->second);
    const auto n_in = [&](std::span<const Token> tokens) {
      return std::count(tokens.begin(), tokens.end(), token);
    };
    if (options.repetition_penalty != 1 && n_in(prompt) + n_in(answer) > 0)
      out[token] = static_cast<float>(out[token] > 0 ? out[token] / options.repetition_penalty
                                                     : out[token] * options.repetition_penalty);
    const auto n = static_cast<double>(n_in(answer));
    if (n > 0)
      out[token] =
          static_cast<float>(out[token] - options.presence_penalty - n * options.frequency_penalty);
  }
  return out;
}

// allowed: [vocab], false: never drawn; empty: all may be drawn.
inline Token sample(std::span<const float> row, const SamplingOptions& options, uint64_t seed,
                    int choice, uint32_t position, std::span<const Token> prompt,
                    std::span<const Token> answer, const std::vector<bool>& allowed = {}) {
  const std::vector<float> logits = adjusted(row, options, prompt, answer);
  std::vector<Token> order;
  for (size_t i = 0; i < logits.size(); ++i)
    if (allowed.empty() || allowed[i]) order.push_back(static_cast<Token>(i));
  if (order.empty()) return -1;
  const auto by_rank = [&](Token a, Token b) { return logits[a] > logits[b]; };
  const Token best = *std::min_element(order.begin(), order.end(),
                                       [&](Token a, Token b) { return logits[a] > logits[b]; });
  if (options.temperature == 0) return best;
  if (options.top_k > 0 || options.top_p < 1) std::stable_sort(order.begin(), order.end(), by_rank);
  if (options.top_k > 0 && order.size() > static_cast<size_t>(options.top_k))
    order.resize(options.top_k);
  if (options.min_p > 0)
    std::erase_if(order, [&](Token token) {
      return std::exp((logits[token] - static_cast<double>(logits[best])) / options.temperature) <
             options.min_p;
    });
  std::vector<double> weights;
  double sum = 0;
  for (const Token token : order) {
    weights.push_back(
        std::exp((logits[token] - static_cast<double>(logits[best])) / options.temperature));
    sum += weights.back();
  }
  if (options.top_p < 1) {
    double kept = 0;
    size_t n = 0;
    do kept += weights[n++];
    while (n < weights.size() && kept < options.top_p * sum);
    order.resize(n);
    sum = kept;
  }
  const uint64_t counter = (static_cast<uint64_t>(choice) << 32) + position + 0x9e3779b97f4a7c15u;
  double left =
      std::ldexp(static_cast<double>(splitmix(splitmix(seed) ^ splitmix(counter)) >> 11), -53) *
      sum;
  for (size_t i = 0; i + 1 < order.size(); ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order.back();
}

}  // namespace pando::reference
