// Sampling against distributions worked out by hand and by brute force.
#include "engine/sampler.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace pando {
namespace {

std::vector<float> random_logits(uint64_t seed, int vocab, float spread) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(vocab);
  for (float& logit : logits) logit = normal(rng);
  return logits;
}

SamplingOptions sampled(double temperature, int top_k = 0, double top_p = 1) {
  SamplingOptions options;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  return options;
}

// The number of tokens before `token` in order of likelihood.
int rank_of(const std::vector<float>& logits, size_t token) {
  int rank = 0;
  for (size_t other = 0; other < logits.size(); ++other)
    rank += logits[other] > logits[token] || (logits[other] == logits[token] && other < token);
  return rank;
}

// [vocab] probabilities by the definition in sampler.h.
std::vector<double> distribution(const std::vector<float>& logits, const SamplingOptions& options) {
  std::vector<double> p(logits.size());
  const auto normalise = [&] {
    double sum = 0;
    for (const double x : p) sum += x;
    for (double& x : p) x /= sum;
  };
  for (size_t i = 0; i < p.size(); ++i) {
    const bool kept = options.top_k == 0 || rank_of(logits, i) < options.top_k;
    p[i] = kept ? std::exp(logits[i] / options.temperature) : 0;
  }
  normalise();
  std::vector<double> kept(p.size());
  double before = 0;
  for (size_t rank = 0; rank < p.size() && before < options.top_p; ++rank)
    for (size_t i = 0; i < p.size(); ++i)
      if (rank_of(logits, i) == static_cast<int>(rank)) before += kept[i] = p[i];
  p = kept;
  normalise();
  return p;
}

// Draws once at each of many positions; the chi-square sum stays within what chance allows.
void expect_distribution(const std::vector<float>& logits, const SamplingOptions& options) {
  constexpr int kDraws = 20000;
  const std::vector<double> p = distribution(logits, options);
  std::vector<int> counts(p.size());
  for (int i = 0; i < kDraws; ++i)
    ++counts[sample_token(logits, options, {11, 2, static_cast<uint32_t>(i)})];
  double chi_square = 0;
  int n_free = -1;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
      continue;
    }
    const double expected = kDraws * p[i];
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++n_free;
  }
  EXPECT_LT(chi_square, n_free + 5 * std::sqrt(2.0 * n_free) + 1)
      << "temperature " << options.temperature << " top_k " << options.top_k << " top_p "
      << options.top_p;
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  const std::vector<float> logits = {-1, 2, 2, -3, 2};
  EXPECT_EQ(sample_token(logits, sampled(0), {}), 1);
  EXPECT_EQ(sample_token(logits, sampled(1, /*top_k=*/1), {}), 1);
  EXPECT_EQ(sample_token(std::vector<float>{-0.0f, 0.0f}, sampled(0), {}), 0);
  EXPECT_EQ(sample_token(std::vector<float>{-INFINITY, -INFINITY, -5}, sampled(0), {}), 2);
}

TEST(Sampler, GreedyNeedsNoKey) {
  const std::vector<float> logits = random_logits(1, 300, 3);
  const Token best = sample_token(logits, sampled(0), {1, 0, 7});
  for (uint64_t seed = 2; seed < 20; ++seed)
    EXPECT_EQ(sample_token(logits, sampled(0, 5, 0.3), {seed, 3, 9}), best);
}

TEST(Sampler, DrawsFromTheSoftmax) {
  const std::vector<float> logits = random_logits(2, 12, 1.5f);
  for (const double temperature : {0.3, 1.0, 2.5})
    expect_distribution(logits, sampled(temperature));
}

TEST(Sampler, TopKTopPAndTemperatureTogether) {
  for (uint64_t seed = 3; seed < 7; ++seed) {
    const std::vector<float> logits = random_logits(seed, 12, 1.5f);
    expect_distribution(logits, sampled(0.8, 4));
    expect_distribution(logits, sampled(1.2, 0, 0.7));
    expect_distribution(logits, sampled(0.9, 5, 0.8));
    expect_distribution(logits, sampled(1.0, 100, 0.999));
  }
}

TEST(Sampler, MinPCutsRelativeToTheLikeliest) {
  const std::vector<float> logits = {0, 2, 1, -1, 1.9f};
  SamplingOptions options = sampled(1);
  options.min_p = 0.3;  // exp(1 - 2) = 0.37 stays, exp(0 - 2) = 0.14 goes
  std::set<Token> seen;
  for (uint32_t i = 0; i < 500; ++i) seen.insert(sample_token(logits, options, {5, 0, i}));
  EXPECT_EQ(seen, (std::set<Token>{1, 2, 4}));
  options.temperature = 3;  // flattens: exp(-2 / 3) = 0.51, exp(-1) = 0.37
  for (uint32_t i = 0; i < 500; ++i) seen.insert(sample_token(logits, options, {5, 0, i}));
  EXPECT_EQ(seen.size(), 5u);
  options.min_p = 1;
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(sample_token(logits, options, {5, 0, i}), 1);
}

TEST(Sampler, PenaltiesAndBiasChangeTheLogits) {
  const std::vector<float> logits = {3, 2.9f, -1, 2.5f};
  const std::vector<Token> prompt = {0, 2}, answer = {1, 1, 3};
  const auto pick = [&](const auto& set) {
    SamplingOptions options;
    set(options);
    return sample_token(logits, options, {}, {prompt, answer});
  };
  EXPECT_EQ(pick([](auto&) {}), 0);
  EXPECT_EQ(pick([](auto& o) { o.logit_bias = {{2, 5}}; }), 2);
  EXPECT_EQ(pick([](auto& o) { o.logit_bias = {{0, -0.2}}; }), 1);
  // 3 / 1.3 = 2.31, 2.9 / 1.3 = 2.23, -1 * 1.3, 2.5 / 1.3 = 1.92; bias first: (3 - 0.2) / 1.3
  // = 2.15
  EXPECT_EQ(pick([](auto& o) { o.repetition_penalty = 1.3; }), 0);
  EXPECT_EQ(pick([](auto& o) { o.repetition_penalty = 1.3, o.logit_bias = {{0, -0.2}}; }), 1);
  EXPECT_EQ(pick([](auto& o) { o.repetition_penalty = 0.1; }), 0);
  EXPECT_EQ(pick([](auto& o) { o.presence_penalty = -0.2; }), 1);    // 3.1 against 2.7
  EXPECT_EQ(pick([](auto& o) { o.frequency_penalty = -0.06; }), 1);  // 2.9 + 2 * 0.06
  EXPECT_EQ(pick([](auto& o) { o.frequency_penalty = -0.04; }), 0);
  SamplingOptions negative;
  negative.repetition_penalty = 2;
  EXPECT_EQ(sample_token(std::vector<float>{-1, -1.5f}, negative, {}, {std::vector<Token>{0}, {}}),
            1);
}

TEST(Sampler, AHugeBiasDecides) {
  SamplingOptions options = sampled(1);
  options.logit_bias = {{1, 1e39}};
  for (uint32_t i = 0; i < 20; ++i)
    EXPECT_EQ(sample_token(std::vector<float>{0, 1, 2}, options, {5, 0, i}), 1);
  options.logit_bias = {{1, -1e39}, {2, -1e300}};
  for (uint32_t i = 0; i < 20; ++i)
    EXPECT_EQ(sample_token(std::vector<float>{0, 1, 2}, options, {5, 0, i}), 0);
}

TEST(Sampler, TheLikeliestBesideAToken) {
  const std::vector<float> logits = {1, 3, 2, 3, 0};
  const TokenLogprob found = log_probability(logits, 2, 3);
  EXPECT_FALSE(found.likeliest);
  ASSERT_EQ(found.top.size(), 3u);
  EXPECT_EQ(found.top[0].first, 1);
  EXPECT_EQ(found.top[1].first, 3);
  EXPECT_EQ(found.top[2], (std::pair<Token, float>{2, found.logprob}));
  EXPECT_TRUE(log_probability(logits, 1).likeliest);
  EXPECT_FALSE(log_probability(logits, 3).likeliest);
  EXPECT_EQ(log_probability(logits, 3, 100).top.size(), 5u);
}

TEST(Sampler, WhatIsBarredIsNeverDrawn) {
  const std::vector<float> logits = {5, 4, 3, 2, 9};
  const std::vector<Token> barred = {4, 0, 99, -1};  // two are outside the vocabulary
  const std::vector<Token> answer = {4, 2};
  EXPECT_EQ(sample_token(logits, sampled(0), {}, {.barred = barred}), 1);
  for (SamplingOptions options : {sampled(1), sampled(50), sampled(50, 5), sampled(50, 0, 0.999)}) {
    options.repetition_penalty = 1.5;
    options.logit_bias = {{4, 100}, {0, 1}};
    std::set<Token> seen;
    for (uint32_t i = 0; i < 2000; ++i)
      seen.insert(sample_token(logits, options, {5, 0, i}, {.answer = answer, .barred = barred}));
    EXPECT_EQ(seen, (std::set<Token>{1, 2, 3}));
  }
}

// Other tokens keep their proportions, and are drawn as from a vocabulary without barred tokens.
TEST(Sampler, WhatIsNotBarredKeepsItsProportions) {
  const std::vector<float> logits = random_logits(13, 40, 2);
  std::vector<float> without = logits;
  const std::vector<Token> barred = {3, 17, 39};
  for (const Token token : barred) without[token] = -INFINITY;
  for (const SamplingOptions& options : {sampled(1), sampled(0.7, 8), sampled(2, 0, 0.8)})
    for (uint32_t i = 0; i < 500; ++i)
      EXPECT_EQ(sample_token(logits, options, {5, 0, i}, {.barred = barred}),
                sample_token(without, options, {5, 0, i}));
}

TEST(Sampler, WhereNothingElseIsLeftWhatIsBarredIsDrawn) {
  const std::vector<float> logits = {1, 7, -INFINITY};
  const std::vector<Token> barred = {0, 1};
  EXPECT_EQ(sample_token(logits, sampled(0), {}, {.barred = barred}), 1);
  std::set<Token> seen;
  for (uint32_t i = 0; i < 500; ++i)
    seen.insert(sample_token(logits, sampled(10), {5, 0, i}, {.barred = barred}));
  EXPECT_EQ(seen, (std::set<Token>{0, 1}));
}

std::vector<uint64_t> bits_of(const std::set<Token>& tokens, size_t n_tokens) {
  std::vector<uint64_t> bits((n_tokens + 63) / 64);
  for (const Token token : tokens)
    bits[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
  return bits;
}

// For any number of tokens, with mask words that are empty, sparse, dense and full.
TEST(Sampler, OnlyWhatIsAllowedIsDrawn) {
  std::mt19937 rng(4);
  for (const size_t n_tokens : {1, 63, 64, 65, 200, 1000})
    for (const unsigned percent : {1u, 10u, 50u, 95u, 100u}) {
      std::vector<float> logits = random_logits(n_tokens + percent, static_cast<int>(n_tokens), 2);
      for (size_t i = 0; i + 7 < n_tokens; i += 7) logits[i] = logits[i + 7];  // equal ones
      std::set<Token> allowed{static_cast<Token>(rng() % n_tokens)};
      for (size_t i = 0; i < n_tokens; ++i)
        if (rng() % 100 < percent) allowed.insert(static_cast<Token>(i));
      std::vector<float> without = logits;
      for (size_t i = 0; i < n_tokens; ++i)
        if (!allowed.contains(static_cast<Token>(i))) without[i] = -INFINITY;
      const std::vector<uint64_t> bits = bits_of(allowed, n_tokens);
      for (const SamplingOptions& options :
           {sampled(0), sampled(1, 1), sampled(1), sampled(0.7, 8), sampled(2, 0, 0.8)})
        for (uint32_t i = 0; i < 20; ++i)
          ASSERT_EQ(sample_token(logits, options, {5, 0, i}, {.allowed = bits}),
                    sample_token(without, options, {5, 0, i}))
              << n_tokens << " tokens, " << percent << "%";
    }
}

TEST(Sampler, OneOfTheAllowedIsDrawnWhateverTheLogits) {
  const std::vector<uint64_t> bits = bits_of({40, 70}, 100);
  for (const float logit : {-INFINITY, std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
    std::vector<float> logits(100, logit);
    logits[3] = INFINITY;  // not allowed
    EXPECT_EQ(sample_token(logits, sampled(0), {}, {.allowed = bits}), 40);
  }
}

TEST(Sampler, TiesAtTheCutGoToTheLowerId) {
  const std::vector<float> logits = {0, 1, 1, 1, 0};
  expect_distribution(logits, sampled(1, 2));
  std::set<Token> seen;
  for (uint32_t i = 0; i < 200; ++i) seen.insert(sample_token(logits, sampled(1, 2), {5, 0, i}));
  EXPECT_EQ(seen, (std::set<Token>{1, 2}));
}

TEST(Sampler, TheSmallestTopPIsGreedy) {
  const std::vector<float> logits = random_logits(8, 50, 0.1f);
  const Token best = sample_token(logits, sampled(0), {});
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(sample_token(logits, sampled(2, 0, 1e-9), {5, 0, i}), best);
}

TEST(Sampler, ExtremeTemperaturesStayInRange) {
  const std::vector<float> logits = random_logits(9, 50, 4);
  const Token best = sample_token(logits, sampled(0), {});
  std::set<Token> seen;
  for (uint32_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(sample_token(logits, sampled(1e-300), {5, 0, i}), best);
    seen.insert(sample_token(logits, sampled(1e300), {5, 0, i}));
  }
  EXPECT_EQ(seen.size(), logits.size());
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 49);
}

TEST(Sampler, NeverDrawsWhatIsImpossible) {
  std::vector<float> logits(64, -INFINITY);
  logits[10] = 1;
  logits[20] = 1;
  for (uint32_t i = 0; i < 2000; ++i) {
    const Token token = sample_token(logits, sampled(1), {7, 0, i});
    EXPECT_TRUE(token == 10 || token == 20) << token;
  }
}

TEST(Sampler, SameKeySameDraw) {
  const std::vector<float> logits = random_logits(10, 500, 1);
  for (uint32_t i = 0; i < 50; ++i) {
    const SamplingKey key{i * 77u, i % 3, i};
    EXPECT_EQ(sample_token(logits, sampled(1), key), sample_token(logits, sampled(1), key));
  }
}

// Two of a thousand tokens agree by chance in one of a thousand draws.
TEST(Sampler, SeedChoiceAndPositionEachDecide) {
  const std::vector<float> logits(1000, 0.0f);
  int same_seed = 0, same_choice = 0, same_position = 0, swapped = 0;
  for (uint32_t i = 0; i < 2000; ++i) {
    const auto draw = [&](uint64_t seed, uint32_t choice, uint32_t position) {
      return sample_token(logits, sampled(1), {seed, choice, position});
    };
    const Token token = draw(i, 1, 5 + i);
    same_seed += token == draw(i + 1, 1, 5 + i);
    same_choice += token == draw(i, 2, 5 + i);
    same_position += token == draw(i, 1, 6 + i);
    swapped += token == draw(i, 5 + i, 1);
  }
  EXPECT_LT(std::max({same_seed, same_choice, same_position, swapped}), 15);
}

TEST(Sampler, LogProbability) {
  const std::vector<float> even(8, 3.5f);
  EXPECT_FLOAT_EQ(log_probability(even, 3).logprob, static_cast<float>(-std::log(8.0)));
  const std::vector<float> huge = {1000, 999, -1e30f};
  EXPECT_FLOAT_EQ(log_probability(huge, 0).logprob,
                  static_cast<float>(-std::log1p(std::exp(-1.0))));
  EXPECT_LT(log_probability(huge, 2).logprob, -1e29f);
  const std::vector<float> logits = random_logits(12, 100, 2);
  double sum = 0;
  for (Token token = 0; token < 100; ++token)
    sum += std::exp(double{log_probability(logits, token).logprob});
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Sampler, ChainHashIsXxh3SeededByWhatCameBefore) {
  const std::vector<float> first = {1, 2, 3}, second = {-4, 0};
  const uint64_t once = XXH3_64bits_withSeed(first.data(), 12, 0);
  EXPECT_EQ(chain_hash(0, first), once);
  EXPECT_EQ(chain_hash(once, second), XXH3_64bits_withSeed(second.data(), 8, once));
  EXPECT_NE(chain_hash(chain_hash(0, first), second), chain_hash(chain_hash(0, second), first));
  EXPECT_NE(chain_hash(0, std::vector<float>{0.0f}), chain_hash(0, std::vector<float>{-0.0f}));
}

TEST(Sampler, SeedFromTheIdOrElseTheTokens) {
  Request named, same_name, unnamed, other;
  named.id = same_name.id = "q1";
  named.tokens = {1, 2};
  same_name.tokens = {3};
  unnamed.tokens = {1, 2};
  other.tokens = {2, 1};
  EXPECT_EQ(derive_seed(0, named), derive_seed(0, same_name));
  EXPECT_EQ(derive_seed(0, unnamed), derive_seed(0, unnamed));
  EXPECT_NE(derive_seed(0, named), derive_seed(1, named));
  EXPECT_NE(derive_seed(0, unnamed), derive_seed(1, unnamed));
  EXPECT_NE(derive_seed(0, named), derive_seed(0, unnamed));
  EXPECT_NE(derive_seed(0, other), derive_seed(0, unnamed));
  std::set<uint64_t> seeds;
  for (int i = 0; i < 1000; ++i) {
    Request request;
    request.id = std::to_string(i);
    seeds.insert(derive_seed(0, request));
  }
  EXPECT_EQ(seeds.size(), 1000u);
}

// A model whose activations overflow must not take the process with it.
TEST(Sampler, DrawsATokenFromLogitsThatAreNotNumbers) {
  const std::vector<float> logits(20, std::numeric_limits<float>::quiet_NaN());
  for (const double top_p : {1.0, 0.5})
    for (const int top_k : {0, 5}) {
      SamplingOptions options;
      options.temperature = 1;
      options.top_p = top_p;
      options.top_k = top_k;
      const Token token = sample_token(logits, options, {}, {});
      EXPECT_TRUE(token >= 0 && token < 20);
    }
}

}  // namespace
}  // namespace pando
