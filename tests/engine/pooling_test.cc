// Poolings of rows against sums by hand.
#include "engine/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pando {
namespace {

using Values = std::vector<float>;

// Three rows of two channels.
const Values kRows = {1, -2, 4, 0, -8, 1};

Values pooled(Pooling pooling, int pooled_from) {
  Request request;
  request.tokens = {7, 8, 9};
  request.pooling = pooling;
  request.pooled_from = pooled_from;
  Values embedding;
  for (uint32_t row = first_pooled(request); row < 3; ++row)
    if (pools_many(request) || row == first_pooled(request))
      pool_row(request, row, std::span(kRows).subspan(row * 2, 2), embedding);
  finish_pooling(request, embedding);
  return embedding;
}

TEST(Pooling, EveryKind) {
  const float root = 1 / std::sqrt(3.0F), third = 1.0F / 3;
  EXPECT_EQ(pooled(Pooling::kLast, 0), (Values{-8, 1}));
  EXPECT_EQ(pooled(Pooling::kFirst, 0), (Values{1, -2}));
  EXPECT_EQ(pooled(Pooling::kMax, 0), (Values{4, 1}));
  EXPECT_EQ(pooled(Pooling::kMean, 0), (Values{-3 * third, -1 * third}));
  EXPECT_EQ(pooled(Pooling::kMeanSqrtLen, 0), (Values{-3 * root, -1 * root}));
  EXPECT_EQ(pooled(Pooling::kWeightedMean, 0), (Values{(1 + 8 - 24) * (1.0F / 6), 1 * (1.0F / 6)}));
  EXPECT_EQ(pooled(Pooling::kRows, 0), kRows);
}

TEST(Pooling, LeavesOutTheFirstRows) {
  EXPECT_EQ(pooled(Pooling::kFirst, 1), (Values{4, 0}));
  EXPECT_EQ(pooled(Pooling::kMax, 2), (Values{-8, 1}));
  EXPECT_EQ(pooled(Pooling::kMean, 1), (Values{-2, 0.5}));
  // Positions count from the beginning of the text.
  EXPECT_EQ(pooled(Pooling::kWeightedMean, 1), (Values{(8 - 24) * 0.2F, 3 * 0.2F}));
  EXPECT_EQ(pooled(Pooling::kRows, 2), (Values{-8, 1}));
}

TEST(Pooling, RowsAtOnceGiveTheSameBits) {
  for (const auto& [name, pooling] : kPoolingNames)
    for (const int from : {0, 1, 2}) {
      const std::span rows = std::span(kRows).subspan(static_cast<size_t>(from) * 2);
      EXPECT_EQ(pooled_rows(pooling, rows, 2, static_cast<size_t>(from)), pooled(pooling, from))
          << name;
    }
}

}  // namespace
}  // namespace pando
