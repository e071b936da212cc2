// A GPU's operations on rows have the bits of plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "exec/gpu/check_cases.h"
#include "exec/gpu/row_ops.h"
#include "exec/gpu_testing.h"

namespace pando::exec::gpu {
namespace {

TEST(GpuRows, StartCasesInAllOrders) { expect_start_cases(check_rows, 7); }

TEST(GpuRows, TheLargestLogitHasTheLowestId) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  scalar::Rows x(5, 700);
  x.values = normal(x.values.size(), 11);
  for (const size_t i : {650, 300, 299}) x.row(0)[i] = 9.0f;
  std::fill_n(x.row(1), 700, -kInfinity);
  std::fill_n(x.row(2), 700, kNaN);
  std::fill_n(x.row(3), 700, kNaN);
  x.row(3)[0] = -kInfinity;
  x.row(3)[699] = -2.0f;
  x.row(4)[256] = x.row(4)[0] = 8.0f;
  x.row(4)[1] = kNaN;
  const std::vector<uint32_t> expected = {299, 0, 0, 699, 0};
  Barriers barriers;
  barriers.expect(expected, [&](Host& host) {
    Buffer ids;
    greatest(host, upload(host, x), ids);
    return download<uint32_t>(host, ids, 5);
  });
  EXPECT_EQ(barriers.met.size(), 1u);
  EXPECT_EQ(barriers.needed, barriers.met);
}

}  // namespace
}  // namespace pando::exec::gpu
