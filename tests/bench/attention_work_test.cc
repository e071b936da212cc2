// The work of the attention benchmark.
#include "bench/cpu/attention_work.h"

#include <gtest/gtest.h>

namespace pando::bench {
namespace {

TEST(AttentionWorkTest, CountsOperationsAndBytes) {
  AttentionCase shape{.batch = 3, .prefix = 128, .suffix = 64, .n_heads = 8, .n_kv_heads = 2};
  EXPECT_DOUBLE_EQ(shape.flops(), 4.0 * 3 * 8 * 192 * 128);
  EXPECT_DOUBLE_EQ(shape.bytes(), 2.0 * 2 * 2 * 128 * (128 + 3 * 64));
  shape.own_copies = true;
  EXPECT_DOUBLE_EQ(shape.bytes(), 2.0 * 2 * 2 * 128 * 3 * (128 + 64));
}

}  // namespace
}  // namespace pando::bench
