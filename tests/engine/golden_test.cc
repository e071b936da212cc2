// The bits themselves: the same from g++ and clang, with and without optimisation, on every
// instruction set (scripts/same-bits builds the other combinations).
#include <gtest/gtest.h>

#include "engine/exactness_cases.h"

namespace pando::testing {
namespace {

uint64_t hash_of_cases(CaseWeights weights) {
  ExactnessCases cases(weights);
  uint64_t hash = 0;
  for (int seed = 0; seed < 24; ++seed) {
    const CaseResult result = cases.run(seed);
    EXPECT_TRUE(result.equal) << result.what;
    hash = hash * 31 + result.logits_hash;
  }
  return hash;
}

TEST(Golden, F32Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF32), 10741585575889291457u); }
TEST(Golden, F16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF16), 5584794775152527289u); }
TEST(Golden, BF16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kBF16), 15927519421071434421u); }
TEST(Golden, Q8_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ8_0), 4309283345196424268u); }
TEST(Golden, Q4_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_0), 18403846980016784124u); }
TEST(Golden, Int8Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kInt8), 2162404644657893169u); }

}  // namespace
}  // namespace pando::testing
