// The hashes of all logits of 24 cases for each type of weights, on every device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "engine/exactness_cases.h"

namespace pando::testing {

struct GoldenHash {
  const char* name;
  CaseWeights weights;
  std::optional<KvType> kv_type;
  uint64_t hash;
};

inline const GoldenHash kGoldenHashes[] = {
    {"F32Weights", CaseWeights::kF32, {}, 6108171075865462068u},
    {"F16Weights", CaseWeights::kF16, {}, 8133969428668973713u},
    {"BF16Weights", CaseWeights::kBF16, {}, 14374578159395452590u},
    {"Q8_0Weights", CaseWeights::kQ8_0, {}, 13620771411247750482u},
    {"Q4_0Weights", CaseWeights::kQ4_0, {}, 4877640492947730306u},
    {"Int8Weights", CaseWeights::kInt8, {}, 7019396564151035427u},
    {"Q4_KWeights", CaseWeights::kQ4_K, {}, 18015946121608853004u},
    {"BF16DotWeights", CaseWeights::kBF16Dot, {}, 14398165946230675966u},
    {"Q4_1Weights", CaseWeights::kQ4_1, {}, 10662965754650651451u},
    {"Q5_0Weights", CaseWeights::kQ5_0, {}, 2821571556642590617u},
    {"Q5_1Weights", CaseWeights::kQ5_1, {}, 16744009187805314825u},
    {"Q5_KWeights", CaseWeights::kQ5_K, {}, 17703770830458482417u},
    {"Q6_KWeights", CaseWeights::kQ6_K, {}, 16577485715797942189u},
    {"IQ4_NLWeights", CaseWeights::kIQ4_NL, {}, 980640172072079555u},
    {"IQ4_XSWeights", CaseWeights::kIQ4_XS, {}, 7300316355936406274u},
    {"MXFP4Weights", CaseWeights::kMXFP4, {}, 1117756036260762193u},
    {"Int8KeysAndValues", CaseWeights::kF32, KvType::kInt8, 8672329218015067119u},
};

inline uint64_t hash_of_cases(const GoldenHash& golden, CaseDevice device) {
  ExactnessCases cases(golden.weights, golden.kv_type, device);
  uint64_t hash = 0;
  for (int seed = 0; seed < 24; ++seed) {
    const CaseResult result = cases.run(seed);
    EXPECT_TRUE(result.equal) << result.what;
    hash = hash * 31 + result.logits_hash;
  }
  return hash;
}

}  // namespace pando::testing
