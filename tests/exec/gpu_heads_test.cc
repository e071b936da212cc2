// A GPU's queries, keys and values have the bits of plain loops.
#include <gtest/gtest.h>

#include "exec/gpu_testing.h"

namespace pando::exec::gpu {
namespace {

TEST(GpuHeads, StartCasesInAllOrders) { expect_start_cases(check_heads, 6); }

}  // namespace
}  // namespace pando::exec::gpu
