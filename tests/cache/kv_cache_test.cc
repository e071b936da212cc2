#include "cache/kv_cache.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/check.h"
#include "cache/page_memory.h"

namespace pando {
namespace {

using Tokens = std::vector<Token>;
constexpr uint32_t kPageLen = 4;

class KvCacheTest : public ::testing::Test {
 protected:
  KvCacheTest() { make(8); }
  void make(size_t n_pages) {
    cache_.reset();
    pool_ = std::make_unique<PagePool>(n_pages);
    cache_ = std::make_unique<KvCache>(*pool_, kPageLen);
    memory_ = std::make_unique<PageMemory>(n_pages, kPageLen);
  }

  Node* locked(const Tokens& tokens) {
    Node* tip = cache_->acquire(0, tokens);
    cache_->lock(tip);
    return tip;
  }
  // All rows of the path that are not issued yet.
  bool reserve(Node* tip) {
    std::vector<Extent> extents;
    for (Node* node : path_to(tip))
      if (node->n_issued < node->size()) extents.push_back({node, node->size() - node->n_issued});
    return cache_->reserve(extents);
  }
  void submit() {
    memory_->carry_out(cache_->copies());
    memory_->write_rows_of(*cache_);
    cache_->submit();
    check();
  }
  void commit() {
    submit();
    cache_->commit();
    check();
  }
  Node* computed(const Tokens& tokens) {
    Node* tip = locked(tokens);
    EXPECT_TRUE(reserve(tip));
    commit();
    return tip;
  }
  void check() {
    cache_->check_invariants();
    memory_->check(*cache_);
  }

  std::unique_ptr<PagePool> pool_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<PageMemory> memory_;
};

TEST_F(KvCacheTest, FirstChildGoesOnInItsParentsPage) {
  Node* parent = computed({1, 2});
  Node* child = computed({1, 2, 3, 4, 5});
  EXPECT_EQ(child->pages.ids.front(), parent->pages.ids.back());
  EXPECT_EQ(child->pages.ids.size(), 2u);
  EXPECT_EQ(pool_->n_free(), 6u);
}

TEST_F(KvCacheTest, OtherChildrenCopyWhatIsCommitted) {
  Node* parent = computed({1, 2});
  computed({1, 2, 3});
  Node* other = locked({1, 2, 4});
  ASSERT_TRUE(reserve(other));
  ASSERT_EQ(cache_->copies().size(), 1u);
  EXPECT_EQ(cache_->copies()[0].from, parent->pages.ids.back());
  EXPECT_EQ(cache_->copies()[0].to, other->pages.ids.front());
  EXPECT_EQ(cache_->copies()[0].n_positions, 2u);
  EXPECT_TRUE(cache_->fan_outs().empty());
  commit();
  EXPECT_TRUE(cache_->copies().empty());
}

TEST_F(KvCacheTest, OtherChildrenAreWrittenToByRowsOfTheSameStep) {
  Node* first = locked({1, 2, 3});
  Node* other = locked({1, 2, 4});
  ASSERT_TRUE(reserve(first));
  ASSERT_TRUE(reserve(other));
  EXPECT_TRUE(cache_->copies().empty());
  ASSERT_EQ(cache_->fan_outs().size(), 1u);
  EXPECT_EQ(cache_->fan_outs()[0].below, other);
  EXPECT_EQ(cache_->fan_outs()[0].pos_begin, 0u);
  EXPECT_EQ(cache_->fan_outs()[0].pos_end, 2u);
  EXPECT_EQ(cache_->fan_outs()[0].page, other->pages.ids.front());
  commit();
  EXPECT_TRUE(cache_->fan_outs().empty());
}

TEST_F(KvCacheTest, ABranchMayTakeACopyAndAFanOut) {
  Node* parent = computed({1, 2});
  Node* first = locked({1, 2, 3, 4});
  Node* other = locked({1, 2, 3, 5});
  ASSERT_TRUE(reserve(first));
  ASSERT_TRUE(reserve(other));
  ASSERT_EQ(cache_->copies().size(), 1u);
  EXPECT_EQ(cache_->copies()[0].n_positions, 2u);
  ASSERT_EQ(cache_->fan_outs().size(), 1u);
  EXPECT_EQ(first->pages.ids, parent->pages.ids);
  commit();
}

// Regression: the lower part of a split node may be forgotten before the step is planned.
TEST_F(KvCacheTest, FanOutsFollowThePageWhenANodeIsSplit) {
  Node* first = locked({1, 2, 3});
  Node* other = locked({1, 2, 4, 5});
  ASSERT_TRUE(reserve(first));
  ASSERT_TRUE(cache_->reserve(std::vector<Extent>{{other, 1}}));
  Node* upper = cache_->acquire(0, Tokens{1, 2, 4});
  ASSERT_EQ(other->parent, upper);
  cache_->unlock(other);
  cache_->release(other);
  ASSERT_EQ(cache_->fan_outs().size(), 1u);
  EXPECT_EQ(cache_->fan_outs()[0].below, upper);
  commit();
}

TEST_F(KvCacheTest, EvictsUnpinnedBeforePinnedAndOldestFirst) {
  Node* oldest = computed({1, 1, 1, 1});
  Node* kept = computed({2, 2, 2, 2, 2});
  Node* released = computed({3, 3, 3, 3, 3, 3, 3, 3});
  Node* running = computed({4, 4, 4, 4});
  for (Node* tip : {oldest, kept, released}) cache_->unlock(tip);
  cache_->release(released);
  Node* next = computed({5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5});
  EXPECT_EQ(cache_->n_evicted_pages(), 1u);
  EXPECT_EQ(cache_->tree().n_nodes(), 5u);
  EXPECT_EQ(released->n_committed, 4u);  // from the end
  EXPECT_EQ(released->size(), 4u);
  cache_->unlock(next);
  Node* last = computed({6, 6, 6, 6, 6, 6, 6, 6});
  EXPECT_EQ(cache_->tree().n_nodes(), 5u);  // the rest of `released`, then `oldest`
  EXPECT_EQ(oldest->n_committed, 0u);
  EXPECT_EQ(oldest->size(), 4u);
  EXPECT_EQ(kept->n_committed, 5u);
  EXPECT_EQ(running->n_committed, 4u);
  EXPECT_EQ(last->n_committed, 8u);
}

TEST_F(KvCacheTest, ARefusedReserveHoldsNothing) {
  Node* a = computed({1, 2, 3, 4, 5, 6});
  Node* b = locked({1, 2, 3, 4, 5, 7});
  Node* c = locked(Tokens(40, 9));
  ASSERT_TRUE(reserve(b));
  const size_t n_free = pool_->n_free();
  EXPECT_FALSE(reserve(c));
  EXPECT_EQ(pool_->n_free(), n_free);
  EXPECT_TRUE(c->pages.empty());
  EXPECT_EQ(cache_->copies().size(), 1u);
  commit();
  EXPECT_EQ(a->n_committed, 1u);
  EXPECT_EQ(cache_->n_evicted_pages(), 0u);
}

// Regression: a node that was cached and evictable is locked when a sequence extends into it.
TEST_F(KvCacheTest, ExtendLocksWhatWasCached) {
  make(2);
  Node* cached = computed({1, 2, 3, 4, 5});
  Node* tip = locked({1, 2, 3, 4});
  cache_->unlock(cached);
  cache_->release(cached);
  ASSERT_EQ(cache_->extend(tip, 5), cached);
  check();
  EXPECT_FALSE(reserve(locked({9})));
  EXPECT_EQ(cached->n_committed, 1u);
}

// Regression: tokens computed for a sequence that has gone can be evicted.
TEST_F(KvCacheTest, CommittedForNobodyCanBeEvicted) {
  make(2);
  Node* gone = locked({1, 2, 3, 4, 5});
  ASSERT_TRUE(reserve(gone));
  cache_->unlock(gone);
  cache_->release(gone);
  EXPECT_FALSE(reserve(locked({8})));  // in flight: not yet
  commit();
  computed({9, 9, 9, 9, 9});
  EXPECT_EQ(cache_->n_evicted_pages(), 2u);
}

TEST_F(KvCacheTest, AbortGivesBackThePagesOfTheStep) {
  Node* a = computed({1, 2, 3});
  Node* b = locked({1, 2, 3, 4, 5, 6});
  Node* c = locked({1, 2, 3, 7, 8, 9});
  ASSERT_TRUE(reserve(b));
  ASSERT_TRUE(reserve(c));
  EXPECT_EQ(pool_->n_free(), 4u);
  cache_->unlock(c);
  cache_->release(c);
  cache_->abort();
  check();
  EXPECT_EQ(pool_->n_free(), 7u);
  EXPECT_EQ(cache_->tree().n_nodes(), 2u);
  EXPECT_TRUE(cache_->copies().empty());
  EXPECT_EQ(a->n_committed, 3u);
  ASSERT_TRUE(reserve(b));
  commit();
}

TEST_F(KvCacheTest, WhatAStepInFlightWritesIsCopied) {
  Node* first = locked({1, 2, 3});
  ASSERT_TRUE(cache_->reserve(std::vector<Extent>{{first, 2}}));
  submit();
  Node* other = locked({1, 2, 3, 4});
  Node* branch = locked({1, 2, 5});
  ASSERT_TRUE(reserve(first));
  ASSERT_TRUE(reserve(other));
  ASSERT_TRUE(reserve(branch));
  ASSERT_EQ(cache_->copies().size(), 1u);
  EXPECT_EQ(cache_->copies()[0].to, branch->pages.ids.front());
  EXPECT_EQ(cache_->copies()[0].n_positions, 2u);
  EXPECT_TRUE(cache_->fan_outs().empty());
  submit();
  for (int step = 0; step < 2; ++step) {
    cache_->commit();
    check();
  }
  EXPECT_EQ(other->n_committed, 1u);
}

TEST_F(KvCacheTest, AStepThatFailsGivesBackThePagesOfAllThatWereSubmittedAfterIt) {
  Node* a = computed({1, 2, 3});
  Node* b = locked({1, 2, 3, 4, 5, 6, 7, 8, 9});
  Node* c = locked({1, 2, 3, 4, 6});
  ASSERT_TRUE(cache_->reserve(std::vector<Extent>{{b->parent, 1}, {b, 2}}));
  submit();
  ASSERT_TRUE(reserve(b));
  ASSERT_TRUE(reserve(c));
  submit();
  ASSERT_TRUE(reserve(locked({7, 7})));
  EXPECT_EQ(pool_->n_free(), 3u);
  cache_->abort();
  check();
  EXPECT_EQ(pool_->n_free(), 4u);
  cache_->unlock(c);
  cache_->release(c);
  EXPECT_FALSE(c->pages.evictable);
  cache_->abort_all();
  check();
  EXPECT_EQ(pool_->n_free(), 7u);
  EXPECT_EQ(a->n_committed, 3u);
  EXPECT_EQ(b->n_issued, 0u);
  ASSERT_TRUE(reserve(b));
  commit();
}

TEST_F(KvCacheTest, CompactOnlyWhenNothingIsInFlight) {
  Node* tip = locked({1, 2});
  ASSERT_TRUE(reserve(tip));
  submit();
  EXPECT_THROW(cache_->compact(tip), BugError);
}

TEST_F(KvCacheTest, ReleaseAndDropFreesWhatNobodyElseNeeds) {
  Node* a = computed({1, 2, 3, 4, 5});
  Node* b = computed({1, 2, 3, 4, 6});
  for (Node* tip : {a, b}) cache_->unlock(tip);
  cache_->release_and_drop(a);
  check();
  EXPECT_EQ(pool_->n_free(), 6u);
  cache_->release_and_drop(b);
  check();
  EXPECT_EQ(pool_->n_free(), 8u);
  EXPECT_EQ(cache_->tree().n_nodes(), 0u);
}

TEST_F(KvCacheTest, ReleaseAndDropLeavesWhatIsInFlight) {
  Node* tip = computed({1, 2, 3, 4, 5});
  tip = cache_->extend(tip, 6);
  ASSERT_TRUE(reserve(tip));
  cache_->unlock(tip);
  cache_->release_and_drop(tip);
  check();
  EXPECT_EQ(pool_->n_free(), 6u);
  commit();
}

TEST_F(KvCacheTest, CompactOnlyBetweenSteps) {
  Node* tip = locked({1, 2});
  ASSERT_TRUE(reserve(tip));
  EXPECT_THROW(cache_->compact(tip), BugError);
}

// Branches at every position leave a path of one-token nodes, some with page beginnings of their
// own. Alone it needs no more pages than its length asks for.
TEST_F(KvCacheTest, APathAloneNeedsNoMorePagesThanItsLengthAsksFor) {
  constexpr uint32_t kLength = 22, kPages = (kLength + kPageLen - 1) / kPageLen;
  for (uint32_t n_first = 1; n_first < kLength; ++n_first) {
    make(kPages);
    Tokens whole(kLength);
    for (uint32_t i = 0; i < kLength; ++i) whole[i] = static_cast<Token>(i);
    std::vector<Node*> prefixes;
    for (uint32_t n = 1; n <= kLength; ++n) {
      Tokens branch(whole.begin(), whole.begin() + n);
      branch.back() = 99;  // leaves the path, and takes the tail of the page there
      Node* side = locked(branch);
      if (n <= n_first) reserve(side), commit();
      cache_->unlock(side);
      if (n % 2 == 0) cache_->release(side);
      Node* prefix = locked(Tokens(whole.begin(), whole.begin() + n));
      if (n <= n_first) reserve(prefix), commit();
      cache_->unlock(prefix);
    }
    Node* tip = locked(whole);
    if (!reserve(tip)) {
      cache_->compact(tip);
      check();
      ASSERT_TRUE(reserve(tip)) << n_first;
    }
    commit();
    EXPECT_EQ(tip->start + tip->n_committed, kLength);
    EXPECT_EQ(path_to(tip).size(), kLength);
  }
}

}  // namespace
}  // namespace pando
