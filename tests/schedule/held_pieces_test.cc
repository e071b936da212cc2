#include "schedule/held_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>

#include "schedule/random_prompts.h"

namespace pando {
namespace {

using HeldList = std::vector<Piece>;

// Does the same by a list that is searched.
class NaiveHeldPieces {
 public:
  explicit NaiveHeldPieces(size_t capacity) : capacity_(capacity) {}

  void touch(const HeldList& pieces) {
    for (size_t i = std::min(pieces.size(), capacity_); i-- > 0;) {
      list_.remove(pieces[i]);
      list_.push_front(pieces[i]);
      trim();
    }
  }
  void set_capacity(size_t capacity) {
    capacity_ = capacity;
    trim();
  }
  void clear() { list_.clear(); }
  size_t n_leading(const HeldList& pieces) const {
    size_t n = 0;
    while (n < pieces.size() && std::ranges::find(list_, pieces[n]) != list_.end()) ++n;
    return n;
  }
  const std::list<Piece>& list() const { return list_; }

 private:
  void trim() {
    while (list_.size() > capacity_) list_.pop_back();
  }
  size_t capacity_;
  std::list<Piece> list_;  // the most recently used first
};

TEST(HeldPieces, EqualANaiveModel) {
  std::mt19937 rng(1);
  for (int round = 0; round < 40; ++round) {
    const size_t capacity = rng() % 60;
    HeldPieces held(capacity);
    NaiveHeldPieces naive(capacity);
    std::set<Piece> told;  // by changes
    double now = 0;
    for (int i = 0; i < 150; ++i) {
      const HeldList pieces = testing::random_prompt(rng);
      HeldChanges changes;
      switch (rng() % 20) {
        case 0:
          held.clear(&changes);
          naive.clear();
          break;
        case 1: {
          const size_t new_capacity = rng() % 60;
          held.set_capacity(new_capacity, &changes);
          naive.set_capacity(new_capacity);
          break;
        }
        default:
          held.touch(pieces, now += 1, &changes);
          naive.touch(pieces);
      }
      for (const auto& [piece, is_added] : changes)
        ASSERT_EQ(is_added ? told.insert(piece).second : told.erase(piece) > 0, true);
      ASSERT_EQ(held.since(0).pieces, HeldList(naive.list().begin(), naive.list().end()));
      ASSERT_EQ(told, std::set<Piece>(naive.list().begin(), naive.list().end()));
      ASSERT_EQ(held.size(), naive.list().size());
      const HeldList other = testing::random_prompt(rng);
      ASSERT_EQ(held.n_leading(other), naive.n_leading(other));
    }
  }
}

TEST(HeldPieces, TheBeginningOfAPromptIsKeptLongest) {
  HeldPieces held(4);
  held.touch(HeldList{1, 2, 3}, 1);
  held.touch(HeldList{1, 4, 5}, 2);
  EXPECT_EQ(held.n_leading(HeldList{1, 2, 3}), 1u + 1u);
  EXPECT_EQ(held.n_leading(HeldList{1, 4, 5}), 3u);
  EXPECT_EQ(held.oldest(), 1);
  held.touch(HeldList{6}, 3);
  EXPECT_EQ(held.n_leading(HeldList{1, 2, 3}), 1u);
  EXPECT_EQ(held.oldest(), 2);
  held.touch(HeldList{7, 8, 9, 10, 11}, 4);  // as much as there is room for
  EXPECT_EQ(held.n_leading(HeldList{7, 8, 9, 10, 11}), 4u);
}

TEST(HeldPieces, ADigestHasWhatWasAddedSince) {
  HeldPieces held(100);
  held.touch(HeldList{1, 2, 3}, 1);
  const HeldDigest first = held.since(0);
  EXPECT_TRUE(first.reset);
  EXPECT_EQ(first.pieces, (HeldList{1, 2, 3}));
  held.touch(HeldList{1, 2, 4}, 2);
  held.touch(HeldList{5}, 3);
  const HeldDigest second = held.since(first.version);
  EXPECT_FALSE(second.reset);
  EXPECT_EQ(second.pieces, (HeldList{5, 4}));
  EXPECT_TRUE(held.since(second.version).pieces.empty());
  EXPECT_FALSE(held.since(second.version).reset);
  EXPECT_TRUE(held.since(second.version + 1).reset) << "a version of another process";
}

TEST(HeldPieces, ADigestOfTooMuchIsAWholeListOfTheMostRecent) {
  HeldPieces held(100);
  held.touch(HeldList{1, 2, 3}, 1);
  const uint64_t version = held.since(0).version;
  held.touch(HeldList{4, 5, 6}, 2);
  EXPECT_FALSE(held.since(version, 3).reset);
  const HeldDigest digest = held.since(version, 2);
  EXPECT_TRUE(digest.reset);
  EXPECT_EQ(digest.pieces, (HeldList{4, 5}));
}

// A follower of the digests knows all pieces that are held.
TEST(HeldPieces, DigestsMissNothing) {
  std::mt19937 rng(3);
  HeldPieces held(40);
  std::set<Piece> known;
  uint64_t version = 0;
  for (int i = 0; i < 500; ++i) {
    for (uint32_t n = rng() % 4; n > 0; --n) held.touch(testing::random_prompt(rng), i);
    const HeldDigest digest = held.since(version, 40);
    if (digest.reset) known.clear();
    known.insert(digest.pieces.begin(), digest.pieces.end());
    version = digest.version;
    for (const Piece piece : held.since(0).pieces) ASSERT_TRUE(known.contains(piece));
  }
}

}  // namespace
}  // namespace pando
