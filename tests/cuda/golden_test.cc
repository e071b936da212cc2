// Models on NVIDIA's host, on the driver for tests: a golden hash of every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cuda/driver.h"
#include "engine/golden_hashes.h"

namespace pando::testing {
namespace {

TEST(CudaGolden, IsTheHash) {
  const auto* const golden =
      std::ranges::find(kGoldenHashes, std::string_view("Q8_0Weights"), &GoldenHash::name);
  ASSERT_NE(golden, std::end(kGoldenHashes));
  EXPECT_EQ(hash_of_cases(*golden, CaseDevice::kCuda), golden->hash);
  EXPECT_GT(cuda::n_calls("cuLaunchKernel"), 1000u);
  EXPECT_GT(cuda::n_calls("cuGraphLaunch"), 10u);
  EXPECT_GT(cuda::n_calls("cuGraphExecUpdate_v2"), 10u);
  EXPECT_EQ(cuda::held(), cuda::Held());
}

}  // namespace
}  // namespace pando::testing
