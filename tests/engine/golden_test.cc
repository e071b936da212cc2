// The bits themselves: the same from g++ and clang, with and without optimisation, on every
// instruction set (scripts/same-bits builds the other combinations).
#include <gtest/gtest.h>

#include "engine/exactness_cases.h"

namespace pando::testing {
namespace {

uint64_t hash_of_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  uint64_t hash = 0;
  for (int seed = 0; seed < 24; ++seed) {
    const CaseResult result = cases.run(seed);
    EXPECT_TRUE(result.equal) << result.what;
    hash = hash * 31 + result.logits_hash;
  }
  return hash;
}

TEST(Golden, F32Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF32), 12768875315221609307u); }
TEST(Golden, F16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF16), 14169393785876035566u); }
TEST(Golden, BF16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kBF16), 14350364139006669320u); }
TEST(Golden, Q8_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ8_0), 4651625563628357703u); }
TEST(Golden, Q4_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_0), 15270210961097165153u); }
TEST(Golden, Int8Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kInt8), 278679719824052413u); }
TEST(Golden, Q4_KWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_K), 8846360210351416527u); }
TEST(Golden, BF16DotWeights) {
  EXPECT_EQ(hash_of_cases(CaseWeights::kBF16Dot), 12068290011617396914u);
}
TEST(Golden, Q4_1Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_1), 7741533356314411923u); }
TEST(Golden, Q5_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ5_0), 18222189431967365930u); }
TEST(Golden, Q5_1Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ5_1), 1513103802292459819u); }
TEST(Golden, Q5_KWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ5_K), 17480860980006034757u); }
TEST(Golden, Q6_KWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ6_K), 5162214284736839315u); }
TEST(Golden, IQ4_NLWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kIQ4_NL), 132696923598485580u); }
TEST(Golden, IQ4_XSWeights) {
  EXPECT_EQ(hash_of_cases(CaseWeights::kIQ4_XS), 2457995808928797039u);
}
TEST(Golden, MXFP4Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kMXFP4), 4415454534453823083u); }
TEST(Golden, Int8KeysAndValues) {
  EXPECT_EQ(hash_of_cases(CaseWeights::kF32, KvType::kInt8), 18417012225812969377u);
}

}  // namespace
}  // namespace pando::testing
