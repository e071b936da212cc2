#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pando {
namespace {

TEST(StatisticsTest, MedianIsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(StatisticsTest, QuantileIsThatOfTheNearestRank) {
  const std::vector<double> values = {5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0.9), 5);
  EXPECT_EQ(quantile(values, 0.85), 4);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace
}  // namespace pando
