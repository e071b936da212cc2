#include "cache/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/check.h"
#include "choices.h"

namespace pando {
namespace {

TEST(PagePool, BudgetIsRoundedDownToWholePages) {
  EXPECT_EQ(PagePool(64, 64 * 5 + 63).n_pages(), 5u);
  EXPECT_EQ(PagePool(64, 64).n_pages(), 1u);
}

TEST(PagePool, WithoutRoomForOnePageThereIsNone) {
  PagePool pool(64, 63);
  EXPECT_EQ(pool.n_pages(), 0u);
  EXPECT_EQ(pool.n_free(), 0u);
  EXPECT_FALSE(pool.allocate());
}

TEST(PagePool, HandsOutEveryPageOnceAndThenNothing) {
  PagePool pool(64, 64 * 8);
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

TEST(PagePool, PreparesMemoryAheadOfUse) {
  constexpr size_t kPage = size_t{1} << 20;
  PagePool pool(kPage, 200 * kPage);
  EXPECT_EQ(pool.ready_bytes(), 0u);
  EXPECT_FALSE(pool.prepare(0));
  std::byte* const first = pool.base() + pool.allocate().value() * kPage;
  std::fill_n(first, kPage, std::byte{7});
  const auto n_pieces = [&] {
    int n = 0;
    while (pool.prepare(64 * kPage)) ++n;
    return n;
  };
  EXPECT_EQ(n_pieces(), 33) << "the rest of the piece that is in use, and 32 more";
  EXPECT_EQ(pool.ready_bytes(), 65 * kPage);
  EXPECT_EQ(std::count(first, first + kPage, std::byte{7}), std::ptrdiff_t{kPage})
      << "pages in use stay as they are";
  for (int i = 0; i < 10; ++i) pool.allocate();
  EXPECT_EQ(pool.ready_bytes(), 55 * kPage);
  EXPECT_EQ(n_pieces(), 5);
  for (PageId page = 0; page < 4; ++page) pool.release(page);
  EXPECT_EQ(pool.ready_bytes(), 69 * kPage) << "free pages are ready";
  while (pool.allocate()) continue;
  EXPECT_EQ(n_pieces(), 0);
  EXPECT_EQ(pool.ready_bytes(), 0u);
}

TEST(PagePool, LastReferenceFreesThePage) {
  PagePool pool(64, 64 * 2);
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
  PagePool pool(64, 64 * 2);
  EXPECT_THROW(pool.add_ref(0), BugError);
  EXPECT_THROW(pool.release(0), BugError);
  const PageId page = pool.allocate().value();
  pool.release(page);
  EXPECT_THROW(pool.release(page), BugError);
  EXPECT_EQ(pool.n_free(), 2u);
}

TEST(PagePool, PoisonFillsAPageEveryTimeItIsHandedOut) {
  PagePool pool(64, 64 * 2, /*poison=*/true);
  const auto bytes_of = [&](PageId page) { return std::span(pool.base() + page * 64, 64); };
  const auto all_set = [](std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0xff}; });
  };
  const PageId first = pool.allocate().value();
  EXPECT_TRUE(all_set(bytes_of(first)));
  const PageId second = pool.allocate().value();
  std::ranges::fill(bytes_of(first), std::byte{1});
  std::ranges::fill(bytes_of(second), std::byte{2});
  pool.release(first);
  ASSERT_EQ(pool.allocate(), first);
  EXPECT_TRUE(all_set(bytes_of(first)));
  EXPECT_EQ(bytes_of(second)[0], std::byte{2});
  EXPECT_EQ(bytes_of(second)[63], std::byte{2});
}

TEST(PagePool, RandomOperationsAgreeWithCounts) {
  constexpr size_t kPages = 7;
  PagePool pool(16, 16 * kPages);
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
