// Choice of experts, by values that are easy to follow.
#include "exec/cpu/layers/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "exec/cpu/kernel/kernels.h"

namespace pando::exec {
namespace {

using Floats = std::vector<float>;
using model::RouterScores;

std::vector<ChosenExpert> choose(const model::ExpertsConfig& config, Floats logits,
                                 const exec::LayerWeights& layer = {}) {
  Router router(config, kernel::best_kernels());
  std::vector<ChosenExpert> chosen(config.n_used);
  router.choose(layer, logits, chosen);
  return chosen;
}

std::vector<int> experts(const std::vector<ChosenExpert>& chosen) {
  std::vector<int> all;
  for (const ChosenExpert& one : chosen) all.push_back(one.expert);
  return all;
}

void expect_weights(const std::vector<ChosenExpert>& chosen, const std::vector<double>& expected) {
  ASSERT_EQ(chosen.size(), expected.size());
  for (size_t i = 0; i < chosen.size(); ++i) EXPECT_NEAR(chosen[i].weight, expected[i], 1e-6) << i;
}

using Ints = std::vector<int>;

TEST(Router, TakesTheBestByAscendingNumber) {
  const double sum = std::exp(1.0) + std::exp(4.0) + std::exp(2.0) + std::exp(3.0);
  model::ExpertsConfig config = {.n_experts = 4, .n_used = 2};
  const auto chosen = choose(config, {1, 4, 2, 3});
  EXPECT_EQ(experts(chosen), (Ints{1, 3}));
  expect_weights(chosen, {std::exp(4.0) / sum, std::exp(3.0) / sum});
  config.renormalised = true;
  config.weight_scale = 2.0f;
  const double both = std::exp(4.0) + std::exp(3.0);
  expect_weights(choose(config, {1, 4, 2, 3}),
                 {2 * std::exp(4.0) / both, 2 * std::exp(3.0) / both});
}

TEST(Router, OfEqualExpertsTheFirstIsTaken) {
  const model::ExpertsConfig config = {.n_experts = 6, .n_used = 3};
  EXPECT_EQ(experts(choose(config, {5, 2, 2, 2, 2, 5})), (Ints{0, 1, 5}));
  EXPECT_EQ(experts(choose(config, {1, 1, 1, 1, 1, 1})), (Ints{0, 1, 2}));
}

TEST(Router, SoftmaxOfTheChosenLeavesOthersOut) {
  const model::ExpertsConfig config = {
      .n_experts = 4, .n_used = 2, .scores = RouterScores::kSoftmaxOfChosen};
  const auto chosen = choose(config, {3, 100, -5, 99});
  EXPECT_EQ(experts(chosen), (Ints{1, 3}));
  expect_weights(chosen, {1 / (1 + std::exp(-1.0)), 1 / (1 + std::exp(1.0))});
}

TEST(Router, BiasesOfTheChoiceDoNotWeigh) {
  const model::ExpertsConfig config = {
      .n_experts = 3, .n_used = 1, .scores = RouterScores::kSigmoid};
  exec::LayerWeights layer;
  layer.choice_bias = {0, 0, 0.5f};
  const auto chosen = choose(config, {1, 0.5f, 0}, layer);
  EXPECT_EQ(experts(chosen), Ints{2});
  expect_weights(chosen, {0.5});
  layer.choice_bias.clear();
  layer.router_bias = {0, 0, 2};  // counts for both
  expect_weights(choose(config, {1, 0.5f, 0}, layer), {1 / (1 + std::exp(-2.0))});
}

TEST(Router, ExpertsHaveScalesOfTheirOwn) {
  const model::ExpertsConfig config = {
      .n_experts = 2, .n_used = 2, .scores = RouterScores::kSigmoid, .renormalised = true};
  exec::LayerWeights layer;
  layer.expert_scale = {3, 0.5f};
  expect_weights(choose(config, {1, 1}, layer), {1.5, 0.25});
}

// The best expert is in a group that is not among the best.
TEST(Router, OnlyTheBestGroupsAreOpen) {
  model::ExpertsConfig config = {.n_experts = 6,
                                 .n_used = 2,
                                 .scores = RouterScores::kSigmoid,
                                 .n_groups = 3,
                                 .n_groups_used = 1,
                                 .n_group_best = 2};
  EXPECT_EQ(experts(choose(config, {4, -4, 1, 2, 0, 0})), (Ints{2, 3}));
  config.n_group_best = 1;
  EXPECT_EQ(experts(choose(config, {4, -4, 1, 2, 0, 0})), (Ints{0, 1}));
  config.n_groups_used = 2;
  EXPECT_EQ(experts(choose(config, {4, -4, 1, 2, 0, 0})), (Ints{0, 3}));
}

// Two experts one after the other. Logits that are more than a tenth below do not count.
TEST(Router, TheSparseMixerWeighsOneExpertAfterTheOther) {
  const model::ExpertsConfig config = {
      .n_experts = 4, .n_used = 2, .scores = RouterScores::kSparseMixer, .mixer_jitter = 0.05f};
  const auto far = choose(config, {1, 10, 5, 2});
  EXPECT_EQ(experts(far), (Ints{1, 2}));
  expect_weights(far, {1, 1});
  const auto near = choose(config, {9.9f, 10, 9.5f, 2});
  EXPECT_EQ(experts(near), (Ints{0, 1}));
  const double a = std::exp(9.9), b = std::exp(10.0), c = std::exp(9.5);
  expect_weights(near, {a / (a + c), b / (a + b + c)});
}

TEST(Router, NotANumberChoosesExpertsAllTheSame) {
  const model::ExpertsConfig config = {.n_experts = 4, .n_used = 2};
  const float nan = std::nanf("");
  EXPECT_EQ(experts(choose(config, {nan, nan, nan, nan})), (Ints{0, 1}));
}

}  // namespace
}  // namespace pando::exec
