#include "exec/cut_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace pando::exec {
namespace {

// The smallest cost of the slowest stage over all cuts that go on from `cut`.
double fewest_seconds(std::span<const double> costs, std::span<const int> firsts,
                      std::span<const double> more, std::vector<int>& cut) {
  if (cut.size() == more.size()) {
    cut.push_back(static_cast<int>(costs.size()));
    const double seconds = slowest_stage(costs, cut, more);
    cut.pop_back();
    return seconds;
  }
  double fewest = std::numeric_limits<double>::infinity();
  for (const int first : firsts) {
    if (first <= cut.back()) continue;
    cut.push_back(first);
    fewest = std::min(fewest, fewest_seconds(costs, firsts, more, cut));
    cut.pop_back();
  }
  return fewest;
}

TEST(CutLayers, AreAsFastAsTheBestOfAllCuts) {
  std::mt19937 rng(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> costs(1 + rng() % 10);
    std::vector<int> firsts = {0};
    for (double& cost : costs) cost = static_cast<double>(rng() % 20);
    for (size_t layer = 1; layer < costs.size(); ++layer)
      if (rng() % 4 != 0) firsts.push_back(static_cast<int>(layer));
    std::vector<double> more(1 + rng() % std::min<size_t>(firsts.size(), 5));
    for (double& cost : more) cost = static_cast<double>(rng() % 30);
    const std::vector<int> cut = cut_layers(costs, firsts, more);
    ASSERT_EQ(cut.size(), more.size() + 1);
    EXPECT_EQ(cut.front(), 0);
    EXPECT_EQ(cut.back(), static_cast<int>(costs.size()));
    for (size_t stage = 0; stage < more.size(); ++stage) {
      EXPECT_LT(cut[stage], cut[stage + 1]);
      EXPECT_TRUE(std::ranges::binary_search(firsts, cut[stage]));
    }
    std::vector<int> begin = {0};
    EXPECT_EQ(slowest_stage(costs, cut, more), fewest_seconds(costs, firsts, more, begin)) << i;
  }
}

TEST(CutLayers, AreEvenBesideASlowStage) {
  const std::vector<double> costs = {1, 1, 1, 1, 9, 1, 1};
  const std::vector<int> firsts = {0, 1, 2, 3, 4}, expected = {0, 2, 4, 7};
  EXPECT_EQ(cut_layers(costs, firsts, std::vector<double>(3, 0.0)), expected);
}

TEST(CutLayers, LeaveFewLayersBesideOtherWork) {
  const std::vector<double> costs(8, 1.0);
  std::vector<int> firsts(8);
  for (int i = 0; i < 8; ++i) firsts[i] = i;
  EXPECT_EQ(cut_layers(costs, firsts, std::vector<double>{4, 0}), (std::vector<int>{0, 2, 8}));
  EXPECT_EQ(cut_layers(costs, firsts, std::vector<double>{0, 2}), (std::vector<int>{0, 5, 8}));
  EXPECT_EQ(cut_layers(costs, firsts, std::vector<double>{50, 0}), (std::vector<int>{0, 1, 8}));
}

}  // namespace
}  // namespace pando::exec
