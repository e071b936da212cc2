// The device "scalar": the bits of the CPU and of the reference in every family.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/golden_hashes.h"
#include "engine/text_cases.h"
#include "model/encoders.h"

namespace pando::testing {
namespace {

constexpr int kScalarCases = 12;  // of each set

class ScalarGolden : public ::testing::TestWithParam<GoldenHash> {};

TEST_P(ScalarGolden, IsTheHash) {
  EXPECT_EQ(hash_of_cases(GetParam(), CaseDevice::kScalar), GetParam().hash);
}

INSTANTIATE_TEST_SUITE_P(Types, ScalarGolden, ::testing::ValuesIn(kGoldenHashes),
                         [](const auto& info) { return std::string(info.param.name); });

// Sets of cases as exactness_test.cc has them.
struct CaseSet {
  const char* name;
  CaseResult (ExactnessCases::*run)(uint64_t seed);
  uint64_t first_seed;
  std::vector<CaseWeights> weights;  // with f16 weights there are int8 keys and values too
};

const CaseSet kSets[] = {
    {"Any",
     &ExactnessCases::run,
     1000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kBF16, CaseWeights::kQ8_0,
      CaseWeights::kInt8, CaseWeights::kQ4_K, CaseWeights::kQ6_K, CaseWeights::kMXFP4,
      CaseWeights::kBF16Dot}},
    {"Windows",
     &ExactnessCases::run_windowed,
     50'000'000,
     {CaseWeights::kF16, CaseWeights::kBF16, CaseWeights::kQ8_0}},
    {"Mixtures",
     &ExactnessCases::run_mixture,
     80'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kQ8_0, CaseWeights::kQ4_K,
      CaseWeights::kMXFP4}},
    {"Recurrent",
     &ExactnessCases::run_recurrent,
     40'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kBF16, CaseWeights::kQ8_0}},
    {"Latents",
     &ExactnessCases::run_latent,
     90'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kQ8_0, CaseWeights::kInt8,
      CaseWeights::kQ4_K}},
    {"Stages",
     &ExactnessCases::run_ranks,
     60'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kQ8_0}},
    {"InFlight", &ExactnessCases::run_in_flight, 110'000'000, {CaseWeights::kBF16}},
    {"Forms", &ExactnessCases::run_forms, 100'000'000, {CaseWeights::kBF16, CaseWeights::kQ8_0}},
    {"Begun", &ExactnessCases::run_begun, 110'000'000, {CaseWeights::kF32}}};

class ScalarExactness : public ::testing::TestWithParam<CaseSet> {};

TEST_P(ScalarExactness, HasTheBitsOfTheReference) {
  const CaseSet& set = GetParam();
  int n_rows = 0;
  for (const CaseWeights weights : set.weights) {
    const bool has_int8_keys = weights == CaseWeights::kF16;
    ExactnessCases cases(weights, has_int8_keys ? std::optional(KvType::kInt8) : std::nullopt,
                         CaseDevice::kScalar);
    for (int i = 0; i < kScalarCases; ++i) {
      const uint64_t seed = set.first_seed + 1000 * static_cast<uint64_t>(weights) + i;
      const CaseResult result = (cases.*set.run)(seed);
      ASSERT_TRUE(result.equal) << result.what;
      n_rows += result.n_rows;
    }
  }
  EXPECT_GT(n_rows, 100);
}

INSTANTIATE_TEST_SUITE_P(Sets, ScalarExactness, ::testing::ValuesIn(kSets),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ScalarTexts, HaveTheBitsOfTheReference) {
  int n_texts = 0;
  bool in_stages = false;
  for (const std::string& family : encoder_names())
    for (int i = 0; i < kScalarCases; ++i) {
      const TextCase result = run_text_case(family, static_cast<uint64_t>(i), CaseDevice::kScalar);
      ASSERT_EQ(result.what, "");
      n_texts += result.n_texts;
      in_stages |= result.on_ranks;
    }
  EXPECT_GT(n_texts, kScalarCases);
  EXPECT_TRUE(in_stages);
}

}  // namespace
}  // namespace pando::testing
