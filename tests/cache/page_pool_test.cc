#include "cache/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "choices.h"

namespace pando {
namespace {

TEST(PagePool, MayHoldNone) {
  PagePool pool(0);
  EXPECT_EQ(pool.n_pages(), 0u);
  EXPECT_EQ(pool.n_free(), 0u);
  EXPECT_FALSE(pool.allocate());
}

TEST(PagePool, HandsOutEveryPageOnceAndThenNothing) {
  PagePool pool(8);
  std::set<PageId> pages;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(pool.n_free(), 8u - i);
    pages.insert(pool.allocate().value());
  }
  EXPECT_EQ(pages.size(), 8u);
  EXPECT_LT(*pages.rbegin(), 8u);
  EXPECT_EQ(pool.n_free(), 0u);
  EXPECT_FALSE(pool.allocate());
  pool.release(3);
  EXPECT_EQ(pool.allocate(), PageId{3});
  EXPECT_FALSE(pool.allocate());
}

TEST(PagePool, CountsWhatWasEverHandedOut) {
  PagePool pool(5);
  for (int i = 0; i < 3; ++i) pool.allocate();
  pool.release(1);
  EXPECT_EQ(pool.n_touched(), 3u);
  EXPECT_EQ(pool.n_used(), 2u);
  EXPECT_EQ(pool.allocate(), PageId{1}) << "used before, so it goes first";
  EXPECT_EQ(pool.n_touched(), 3u);
}

TEST(PagePool, PartsHaveTheirOwnPages) {
  PagePool pool(6, 3);
  EXPECT_EQ(pool.allocate(1), PageId{2});
  EXPECT_EQ(pool.allocate(1), PageId{3});
  EXPECT_FALSE(pool.allocate(1));
  EXPECT_EQ(pool.n_free(), 4u);
  EXPECT_EQ(pool.n_free(0), 2u);
  EXPECT_EQ(pool.n_free(1), 0u);
  EXPECT_EQ(pool.allocate(0), PageId{0});
  EXPECT_EQ(pool.n_free(0), 1u);
  pool.release(2);
  EXPECT_EQ(pool.part_of(2), 1u);
  EXPECT_EQ(pool.n_touched(), 3u);
  EXPECT_EQ(pool.n_touched(1), 2u);
  EXPECT_EQ(pool.allocate(1), PageId{2});
}

TEST(PagePool, LastReferenceFreesThePage) {
  PagePool pool(2);
  const PageId page = pool.allocate().value();
  EXPECT_EQ(pool.n_refs(page), 1u);
  pool.add_ref(page);
  pool.add_ref(page);
  EXPECT_EQ(pool.n_refs(page), 3u);
  pool.release(page);
  pool.release(page);
  EXPECT_EQ(pool.n_free(), 1u);
  pool.release(page);
  EXPECT_EQ(pool.n_refs(page), 0u);
  EXPECT_EQ(pool.n_free(), 2u);
}

TEST(PagePool, FreePagesTakeNoReferences) {
  PagePool pool(2);
  EXPECT_THROW(pool.add_ref(0), BugError);
  EXPECT_THROW(pool.release(0), BugError);
  const PageId page = pool.allocate().value();
  pool.release(page);
  EXPECT_THROW(pool.release(page), BugError);
  EXPECT_EQ(pool.n_free(), 2u);
}

TEST(PagePool, RandomOperationsAgreeWithCounts) {
  constexpr size_t kPages = 7;
  PagePool pool(kPages);
  std::vector<uint32_t> n_refs(kPages, 0);
  Choices choices(1);
  const int n_operations = n_random_operations(20'000);
  for (int op = 0; op < n_operations; ++op) {
    const PageId page = static_cast<PageId>(choices.below(kPages));
    const size_t n_free = std::ranges::count(n_refs, 0u);
    ASSERT_EQ(pool.n_free(), n_free);
    switch (choices.below(3)) {
      case 0:
        if (const auto taken = pool.allocate()) {
          ASSERT_EQ(n_refs[*taken]++, 0u);
        } else {
          ASSERT_EQ(n_free, 0u);
        }
        break;
      case 1:
        if (n_refs[page] > 0) pool.add_ref(page), ++n_refs[page];
        break;
      default:
        if (n_refs[page] > 0) pool.release(page), --n_refs[page];
    }
    ASSERT_EQ(pool.n_refs(page), n_refs[page]);
  }
}

}  // namespace
}  // namespace pando
