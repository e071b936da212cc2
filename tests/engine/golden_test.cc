// The bits themselves: the same from g++ and clang, with and without optimisation, on every
// instruction set (scripts/same-bits builds the other combinations).
#include "engine/golden_hashes.h"

namespace pando::testing {
namespace {

class Golden : public ::testing::TestWithParam<GoldenHash> {};

TEST_P(Golden, IsTheHash) {
  EXPECT_EQ(hash_of_cases(GetParam(), CaseDevice::kCpu), GetParam().hash);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Golden, ::testing::ValuesIn(kGoldenHashes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pando::testing
