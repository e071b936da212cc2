// Engines whose pages are in several parts.
#include <gtest/gtest.h>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

// Four parts of 16 pages, in blocks of 4 pages.
TestLoop four_parts() {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = 64 * kTinyPageBytes;
  return TestLoop(open_over_plans(options, /*n_slots=*/0, /*fail_each=*/0, {}, /*depth=*/1,
                                  /*refused=*/0, {.n_parts = 4, .block_len = 16}));
}

TEST(Parts, PromptsWithACommonFirstTokenRunInAllOfThem) {
  TestLoop loop = four_parts();
  for (RequestId id = 1; id <= 20; ++id) {
    const std::string own(10, static_cast<char>('b' + id));
    ASSERT_TRUE(loop.submit(id, tiny_request("a" + own, 5)).ok());
  }
  loop.step();
  EXPECT_EQ(loop.n_running(), 20) << "three pages each";
  loop.run();
  for (RequestId id = 1; id <= 20; ++id) EXPECT_EQ(loop.answers(id).size(), 1u) << id;
  EXPECT_GT(loop.stats().preemptions, 0u) << "answers need a page more";
}

TEST(Parts, LongPathsUseAllOfThem) {
  TestLoop loop = four_parts();
  for (RequestId id = 1; id <= 6; ++id) {
    const std::string own(100, static_cast<char>('b' + id));
    ASSERT_TRUE(loop.submit(id, tiny_request("a" + own, 20)).ok());
  }
  loop.run();
  for (RequestId id = 1; id <= 6; ++id) EXPECT_EQ(loop.answers(id).size(), 1u) << id;
}

}  // namespace
}  // namespace pando::testing
