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

TEST(Golden, F32Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF32), 18035155044172179790u); }
TEST(Golden, F16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF16), 3309258553863824829u); }
TEST(Golden, BF16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kBF16), 8435358367288539929u); }
TEST(Golden, Q8_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ8_0), 9716390113894000927u); }

}  // namespace
}  // namespace pando::testing
