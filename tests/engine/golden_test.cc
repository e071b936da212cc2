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

TEST(Golden, F32Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF32), 8576470904921620850u); }
TEST(Golden, F16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF16), 7976943538065610215u); }
TEST(Golden, BF16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kBF16), 11251780932827000005u); }
TEST(Golden, Q8_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ8_0), 4628117077002028054u); }
TEST(Golden, Q4_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_0), 16720038655150764494u); }
TEST(Golden, Int8Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kInt8), 10583824113731167139u); }

}  // namespace
}  // namespace pando::testing
