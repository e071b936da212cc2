#include "schedule/margin.h"

#include <gtest/gtest.h>

#include <random>

namespace pando {
namespace {

TEST(Margin, IsWhatOneStepInTwentyExceeds) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> ratio(0.8, 1.2);  // 5% are above 1.18
  Margin margin;
  int n_above = 0;
  constexpr int kSteps = 20'000;
  for (int i = 0; i < 1000 + kSteps; ++i) {
    const double measured = 0.01 * ratio(random);
    if (i >= 1000) n_above += measured > 0.01 * margin.factor();
    margin.observe(0.01, measured);
  }
  EXPECT_NEAR(margin.factor(), 1.18, 0.02);
  EXPECT_NEAR(n_above, 0.05 * kSteps, 0.01 * kSteps);
}

TEST(Margin, NeverShortensABudgetOfStepsThatKeepIt) {
  Margin margin;
  for (int i = 0; i < 1000; ++i) margin.observe(0.01, 0.009);
  EXPECT_EQ(margin.factor(), 1);
}

TEST(Margin, IsBounded) {
  Margin margin;
  for (int i = 0; i < 1000; ++i) margin.observe(0.01, 0.1);
  EXPECT_EQ(margin.factor(), 1.5);
}

}  // namespace
}  // namespace pando
