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

TEST(Golden, F32Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF32), 6108171075865462068u); }
TEST(Golden, F16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kF16), 8133969428668973713u); }
TEST(Golden, BF16Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kBF16), 14374578159395452590u); }
TEST(Golden, Q8_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ8_0), 13620771411247750482u); }
TEST(Golden, Q4_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_0), 4877640492947730306u); }
TEST(Golden, Int8Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kInt8), 7019396564151035427u); }
TEST(Golden, Q4_KWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_K), 18015946121608853004u); }
TEST(Golden, BF16DotWeights) {
  EXPECT_EQ(hash_of_cases(CaseWeights::kBF16Dot), 14398165946230675966u);
}
TEST(Golden, Q4_1Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ4_1), 10662965754650651451u); }
TEST(Golden, Q5_0Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ5_0), 2821571556642590617u); }
TEST(Golden, Q5_1Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ5_1), 16744009187805314825u); }
TEST(Golden, Q5_KWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ5_K), 17703770830458482417u); }
TEST(Golden, Q6_KWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kQ6_K), 16577485715797942189u); }
TEST(Golden, IQ4_NLWeights) { EXPECT_EQ(hash_of_cases(CaseWeights::kIQ4_NL), 980640172072079555u); }
TEST(Golden, IQ4_XSWeights) {
  EXPECT_EQ(hash_of_cases(CaseWeights::kIQ4_XS), 7300316355936406274u);
}
TEST(Golden, MXFP4Weights) { EXPECT_EQ(hash_of_cases(CaseWeights::kMXFP4), 1117756036260762193u); }
TEST(Golden, Int8KeysAndValues) {
  EXPECT_EQ(hash_of_cases(CaseWeights::kF32, KvType::kInt8), 8672329218015067119u);
}

}  // namespace
}  // namespace pando::testing
