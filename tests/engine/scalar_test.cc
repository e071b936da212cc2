// The device "scalar": the bits of the CPU and of the reference in every family.
#include <gtest/gtest.h>

#include <string>

#include "engine/case_sets.h"
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

class ScalarExactness : public ::testing::TestWithParam<CaseSet> {};

TEST_P(ScalarExactness, HasTheBitsOfTheReference) {
  expect_bits_of_reference(GetParam(), CaseDevice::kScalar, kScalarCases);
}

INSTANTIATE_TEST_SUITE_P(Sets, ScalarExactness, ::testing::ValuesIn(kCaseSets),
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
