// Estimates against values that were worked out by hand or by their definitions.
#include "task/estimates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace pando {
namespace {

Estimate of(const std::vector<double>& scores, const std::vector<std::string>& clusters = {}) {
  MeanOf mean;
  for (size_t i = 0; i < scores.size(); ++i)
    mean.add(scores[i], clusters.empty() ? "" : clusters[i]);
  return mean.estimate();
}

TEST(Estimates, MeansHaveTheErrorOfTheSample) {
  const Estimate of_four = of({1, 0, 1, 1});
  EXPECT_EQ(of_four.n, 4u);
  EXPECT_DOUBLE_EQ(of_four.mean, 0.75);
  EXPECT_DOUBLE_EQ(of_four.standard_error, 0.25);  // sqrt(0.75 / 3 / 4)
  EXPECT_EQ(of({0.5}).standard_error, 0);
  EXPECT_EQ(of({}).n, 0u);
  EXPECT_EQ(of({}).mean, 0);
  EXPECT_NEAR(of({1e9, 1e9 + 1, 1e9 + 2}).standard_error, std::sqrt(1.0 / 3), 1e-9);
}

TEST(Estimates, ClustersOfOneHaveTheErrorOfTheirScores) {
  // Without the factor n / (n - 1): sqrt(0.75) / 4.
  EXPECT_DOUBLE_EQ(of({1, 0, 1, 1}, {"a", "b", "c", "d"}).standard_error, std::sqrt(0.75) / 4);
}

// Two documents, each with answers that are right or wrong together.
TEST(Estimates, ScoresThatGoTogetherAreFewer) {
  const Estimate together = of({1, 1, 0, 0}, {"a", "a", "b", "b"});
  EXPECT_DOUBLE_EQ(together.mean, 0.5);
  EXPECT_DOUBLE_EQ(together.standard_error, std::sqrt(2.0) / 4);  // each sum is 1 from the mean
  EXPECT_EQ(of({1, 0}, {"a", "a"}).standard_error, 0) << "one cluster tells nothing";
}

// All subsets of k answers, counted.
double counted_pass(int n, int n_right, int k) {
  int all = 0, with_right = 0;
  for (unsigned set = 0; set < 1U << n; ++set) {
    if (__builtin_popcount(set) != k) continue;
    ++all;
    with_right += (set & ((1U << n_right) - 1)) != 0;
  }
  return static_cast<double>(with_right) / all;
}

TEST(Estimates, PassAtKIsTheShareOfSubsets) {
  for (int n = 1; n <= 10; ++n)
    for (int n_right = 0; n_right <= n; ++n_right)
      for (int k = 1; k <= n; ++k)
        EXPECT_NEAR(pass_at_k(n, n_right, k), counted_pass(n, n_right, k), 1e-12)
            << n << " " << n_right << " " << k;
  EXPECT_NEAR(pass_at_k(200, 1, 100), 0.5, 1e-12) << "no number grows too large";
}

TEST(Estimates, TheFirstOfTheMostFrequentWins) {
  EXPECT_EQ(majority(std::vector<std::string>{"a", "b", "b", "c"}), 1u);
  EXPECT_EQ(majority(std::vector<std::string>{"b", "a", "a", "b"}), 0u) << "a tie";
  EXPECT_EQ(majority(std::vector<std::string>{""}), 0u);
}

}  // namespace
}  // namespace pando
