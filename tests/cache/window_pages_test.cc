#include "cache/window_pages.h"

#include <gtest/gtest.h>

#include <vector>

#include "cache/kv_cache.h"

namespace pando {
namespace {

TEST(WindowPages, RowsReadTheirWindowFromTheBeginningOfATile) {
  const WindowPages windows({.window = 10, .tile_len = 8, .n_pages = 4}, /*n_tree_pages=*/4);
  EXPECT_EQ(windows.first_read(0), 0u);
  EXPECT_EQ(windows.first_read(16), 0u);  // sees 7 to 16
  EXPECT_EQ(windows.first_read(17), 8u);  // sees 8 to 17
  EXPECT_EQ(windows.first_read(100), 88u);
}

TEST(WindowPages, WhatNobodyHoldsGoesInTheOrderOfRelease) {
  WindowPages windows({.window = 10, .tile_len = 8, .n_pages = 3}, /*n_tree_pages=*/8);
  for (const PageId page : {0, 1, 2}) {
    ASSERT_TRUE(windows.give(page));
    windows.hold(page);
    windows.set_written(page, 4);
  }
  EXPECT_FALSE(windows.give(3)) << "all are held";
  windows.release(1, /*keep=*/true);
  windows.release(0, /*keep=*/true);
  windows.hold(1);
  windows.release(1, /*keep=*/true);  // behind page 0 now
  windows.check_invariants();
  ASSERT_TRUE(windows.give(3));
  EXPECT_EQ(windows.window_page(0), kNoPage);
  EXPECT_NE(windows.window_page(1), kNoPage);
  EXPECT_EQ(windows.n_written(3), 0u);
  EXPECT_EQ(windows.n_evicted(), 1u);
  windows.check_invariants();
}

TEST(WindowPages, WhatIsNotKeptOrNeverWrittenIsFree) {
  WindowPages windows({.window = 10, .tile_len = 8, .n_pages = 2}, /*n_tree_pages=*/8);
  for (const PageId page : {0, 1}) {
    ASSERT_TRUE(windows.give(page));
    windows.hold(page);
  }
  windows.set_written(1, 4);
  windows.release(0, /*keep=*/true);
  EXPECT_EQ(windows.pool().n_used(), 1u) << "nothing is in page 0";
  windows.release(1, /*keep=*/false);
  EXPECT_EQ(windows.pool().n_used(), 0u);
  EXPECT_EQ(windows.n_evicted(), 0u);
  windows.check_invariants();
}

TEST(WindowPages, WhatStepsInFlightWroteDoesNotCountIfTheyFail) {
  WindowPages windows({.window = 10, .tile_len = 8, .n_pages = 3}, /*n_tree_pages=*/8);
  const auto write = [&](PageId page, uint32_t n) {
    EXPECT_TRUE(windows.window_page(page) != kNoPage || windows.give(page));
    windows.hold(page);
    windows.set_written(page, n);
    windows.submit();
    windows.release(page, /*keep=*/true);
  };
  write(0, 4);
  write(1, 2);
  EXPECT_EQ(windows.n_written(1), 2u) << "the next step reads them";
  windows.commit();
  windows.commit();
  write(1, 4);
  write(2, 4);
  write(2, 3);  // nothing new
  windows.hold(2);
  windows.abort_all();
  windows.check_invariants();
  EXPECT_EQ(windows.n_written(0), 4u);
  EXPECT_EQ(windows.window_page(1), kNoPage);
  EXPECT_EQ(windows.n_written(2), 0u);
  windows.release(2, /*keep=*/true);
  EXPECT_EQ(windows.pool().n_used(), 1u);
  windows.check_invariants();
}

// A branch that continues in its parent's last page writes behind the parent's positions. When it
// goes, the next one may not count them.
TEST(WindowPages, PositionsOfABranchThatIsGoneDoNotCount) {
  PagePool pool(8);
  KvCache cache(pool, /*page_len=*/4, /*n_slots=*/0, {.window = 10, .tile_len = 8, .n_pages = 8});
  Node* const branch = cache.acquire(0, std::vector<Token>{1, 2, 3, 4});
  Node* const trunk = cache.acquire(0, std::vector<Token>{1, 2});  // the first two of the branch
  cache.lock(branch);
  cache.lock(trunk);
  const Extent extents[] = {{trunk, 2}, {branch, 2}};
  ASSERT_TRUE(cache.reserve(extents));
  cache.submit();
  cache.commit();
  const PageId page = trunk->pages.ids[0];
  ASSERT_EQ(branch->pages.ids[0], page);
  cache.windows().set_written(page, 4);
  cache.unlock(branch);
  cache.release_and_drop(branch);
  EXPECT_EQ(cache.windows().n_written(page), 2u);
  cache.unlock(trunk);
  cache.release(trunk);
  cache.check_invariants();
}

}  // namespace
}  // namespace pando
