// Paths over a pool in parts, each in another memory.
#include <gtest/gtest.h>

#include <set>

#include "cache/kv_cache.h"

namespace pando {
namespace {

using Tokens = std::vector<Token>;

// Parts of n_each pages, with blocks of pages_each.
class Parts {
 public:
  Parts(uint32_t n_parts, size_t n_each, int page_len, uint32_t pages_each)
      : pool_(n_parts * n_each, n_parts), cache_(pool_, page_len, /*n_slots=*/0, {}, pages_each) {}

  Node* locked(const Tokens& tokens) {
    Node* tip = cache_.acquire(0, tokens);
    cache_.lock(tip);
    return tip;
  }
  bool reserve(Node* tip) {
    std::vector<Extent> extents;
    for (Node* node : path_to(tip))
      if (node->n_issued < node->size()) extents.push_back({node, node->size() - node->n_issued});
    const bool reserved = cache_.reserve(extents);
    cache_.check_invariants();
    return reserved;
  }
  // Computes the path and leaves it cached.
  uint32_t cache(const Tokens& tokens) {
    Node* tip = locked(tokens);
    EXPECT_TRUE(reserve(tip));
    cache_.submit();
    cache_.commit();
    const uint32_t part = pool_.part_of(path_to(tip)[0]->pages.ids[0]);
    cache_.unlock(tip);
    cache_.release(tip);
    return part;
  }
  size_t n_used(uint32_t part) const { return pool_.n_pages_each() - pool_.n_free(part); }
  KvCache* operator->() { return &cache_; }

 private:
  PagePool pool_;
  KvCache cache_;
};

// A common beginning, then the tokens of one prompt alone.
Tokens prompt(uint32_t n_common, uint32_t n, Token own) {
  Tokens tokens(n, own);
  for (uint32_t i = 0; i < n_common; ++i) tokens[i] = static_cast<Token>(1'000'000 + i);
  return tokens;
}

TEST(KvCacheParts, PromptsWithACommonFirstTokenFillAllParts) {
  Parts parts(4, 1024, 32, 256);
  for (Token i = 0; i < 200; ++i)
    ASSERT_TRUE(parts.reserve(parts.locked(prompt(1, 512, i)))) << "prompt " << i;
  for (uint32_t part = 0; part < 4; ++part) EXPECT_EQ(parts.n_used(part), 50 * 16u) << part;
  EXPECT_EQ(parts->tree().n_pinned_tokens(), 200 * 511 + 4u) << "one first token in each part";
}

// With blocks of 8 positions.
TEST(KvCacheParts, APathFollowsTheBlockThatItShares) {
  Parts parts(2, 100, 4, 2);
  std::set<uint32_t> begins;
  for (Token i = 0; i < 10; ++i) {
    Node* tip = parts.locked(prompt(8, 40, i));
    ASSERT_TRUE(parts.reserve(tip));
    begins.insert(tip->part);
  }
  EXPECT_EQ(begins.size(), 1u);
  EXPECT_EQ(parts->tree().n_pinned_tokens(), 8 + 10 * 32u);
}

TEST(KvCacheParts, AShorterBeginningIsComputedAgainOnceItsPartIsMuchFuller) {
  Parts parts(2, 100, 4, 16);
  std::vector<uint32_t> n_begun(2, 0);
  for (Token i = 0; i < 12; ++i) {
    Node* tip = parts.locked(prompt(10, 20, i));
    ASSERT_TRUE(parts.reserve(tip));
    ++n_begun[tip->part];
    if (i == 2) {
      EXPECT_EQ(n_begun[1], 0u) << "a few share what is there";
    }
  }
  EXPECT_GE(n_begun[1], 3u);
  EXPECT_EQ(parts->tree().n_pinned_tokens(), 2 * 10 + 12 * 10u);
}

TEST(KvCacheParts, APathBeginsWhereLeastIsOpen) {
  Parts parts(2, 10, 4, 4);
  Node* first = parts.locked(prompt(0, 9, 1));
  EXPECT_EQ(first->part, 0u);
  EXPECT_EQ(parts.locked(prompt(0, 5, 2))->part, 1u) << "waits, and has no pages yet";
  EXPECT_EQ(parts.locked(prompt(0, 1, 3))->part, 1u);
  EXPECT_EQ(parts->tree().n_pinned_tokens(0), 9u);
  EXPECT_EQ(parts->tree().n_pinned_tokens(1), 6u);
  Node* longer = parts.locked(prompt(0, 40, 4));  // blocks of 16 positions on parts 1, 0, 1
  EXPECT_EQ(longer->part, 1u);
  EXPECT_EQ(parts->tree().n_pinned_tokens(0), 9 + 16u);
  EXPECT_EQ(parts->tree().n_pinned_tokens(1), 6 + 24u);
}

TEST(KvCacheParts, CachedPathsFillAllPartsAndTheOldestGoFirst) {
  Parts parts(2, 20, 4, 16);
  EXPECT_EQ(parts.cache(prompt(1, 40, 0)), 0u);
  EXPECT_EQ(parts.cache(prompt(1, 40, 1)), 0u);
  EXPECT_EQ(parts.cache(prompt(1, 40, 2)), 1u) << "room is left there";
  EXPECT_EQ(parts.cache(prompt(1, 40, 3)), 1u);
  EXPECT_EQ(parts.n_used(0) + parts.n_used(1), 40u);
  for (Token i = 4; i < 8; ++i)
    EXPECT_EQ(parts.cache(prompt(1, 40, i)), i < 6 ? 0u : 1u) << "where the oldest was";
  EXPECT_EQ(parts->tree().n_known(0, prompt(1, 40, 0), 0, 0), 1u);
  EXPECT_EQ(parts->tree().n_known(0, prompt(1, 40, 2), 0, 1), 1u);
}

TEST(KvCacheParts, TellsWhichPathsAreInThePartThatIsFull) {
  Parts parts(2, 4, 4, 8);
  Node* one = parts.locked(prompt(0, 12, 1));
  Node* two = parts.locked(prompt(0, 12, 2));
  ASSERT_TRUE(parts.reserve(one));
  ASSERT_TRUE(parts.reserve(two));
  Node* three = parts.locked(prompt(0, 8, 3));
  EXPECT_FALSE(parts.reserve(three));
  EXPECT_EQ(parts->has_pages_where_short(one), one->part == three->part);
  EXPECT_EQ(parts->has_pages_where_short(two), two->part == three->part);
}

TEST(PrefixTreeParts, PathsOfOtherPartsShareNothing) {
  PrefixTree tree([](Node&, Node&) {}, {.n_parts = 2, .block_len = 4});
  const Tokens tokens = {1, 2, 3, 4, 5, 6};
  Node* first = tree.acquire(7, tokens, /*n_public=*/2, /*part=*/0);
  EXPECT_EQ(tree.n_known(7, tokens, 2, 0), 6u);
  EXPECT_EQ(tree.n_known(7, Tokens{1, 2, 3, 9, 9}, 2, 0), 3u);
  EXPECT_EQ(tree.n_known(8, tokens, 2, 0), 2u) << "of another key";
  EXPECT_EQ(tree.n_known(7, tokens, 2, 1), 0u);
  EXPECT_EQ(tree.n_known(7, tokens, 0, 0), 0u) << "under a root of its own";
  Node* second = tree.acquire(7, tokens, 2, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(tree.n_pinned_tokens(0), 6u);
  EXPECT_EQ(tree.n_pinned_tokens(1), 6u);
  tree.check_invariants();
  tree.release(first);
  EXPECT_EQ(tree.n_pinned_tokens(0), 2u);
  EXPECT_EQ(tree.n_pinned_tokens(1), 4u);
  tree.release(second);
  EXPECT_EQ(tree.n_nodes(), 0u);
  tree.check_invariants();
}

}  // namespace
}  // namespace pando
