#include "schedule/margin.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace pando {
namespace {

TEST(Margin, IsWhatOneStepInTwentyExceeds) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> ratio(0.8, 1.2);  // 5% are above 1.18
  Margin margin;
  int n_above = 0;
  double sum = 0;
  constexpr int kSteps = 20'000;
  for (int i = 0; i < 1000 + kSteps; ++i) {
    const double measured = 0.01 * ratio(random);
    if (i >= 1000) {
      n_above += measured > 0.01 * margin.factor();
      sum += margin.factor();
    }
    margin.observe(0.01, measured, 0.01);
  }
  EXPECT_NEAR(sum / kSteps, 1.18, 0.02);
  EXPECT_NEAR(n_above, 0.05 * kSteps, 0.01 * kSteps);
}

TEST(Margin, NeverShortensABudgetOfStepsThatKeepIt) {
  Margin margin;
  for (int i = 0; i < 1000; ++i) margin.observe(0.01, 0.009, 0.01);
  EXPECT_EQ(margin.factor(), 1);
}

TEST(Margin, IsBounded) {
  Margin margin;
  for (int i = 0; i < 1000; ++i) margin.observe(0.01, 0.1, 0.01);
  EXPECT_EQ(margin.factor(), 1.5);
}

TEST(Margin, LearnsOfFullStepsOnly) {
  Margin margin;
  for (int i = 0; i < 1000; ++i) margin.observe(0.004, 0.02, 0.01);
  for (int i = 0; i < 1000; ++i)
    margin.observe(1, 2, std::numeric_limits<double>::infinity());  // nothing limits it
  EXPECT_EQ(margin.factor(), 1);
}

// The margin itself makes a step shorter, which must not keep it from falling again.
TEST(Margin, LearnsOfStepsThatItMadeShort) {
  Margin margin;
  for (int i = 0; i < 1000; ++i) margin.observe(0.01, 0.1, 0.01);
  for (int i = 0; i < 1000; ++i) margin.observe(0.004, 0.004, 0.01);
  EXPECT_LT(margin.factor(), 1.3);
}

}  // namespace
}  // namespace pando
