// Residency of models with windows, without a loop: little memory, lost windows, steps that fail.
#include "engine/residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace pando {
namespace {

constexpr uint32_t kWindow = 13;  // positions; pages have 4, tiles 8

class Windowed {
 public:
  Windowed(size_t n_pages, size_t n_window_pages)
      : residency_({.n_pages = n_pages,
                    .page_len = 4,
                    .windows = {.window = kWindow, .tile_len = 8, .n_pages = n_window_pages},
                    .place_every = 1000},
                   nullptr) {}

  Sequence& enter(const std::string& prompt) {
    auto request = std::make_shared<ActiveRequest>();
    request->request.tokens.assign(prompt.begin(), prompt.end());
    open_.push_back(
        std::make_unique<Sequence>(Sequence{.request = request,
                                            .order = open_.size(),
                                            .max_tokens = 10,
                                            .next_output = static_cast<uint32_t>(prompt.size() - 1),
                                            .stops = StopMatcher(request->request.sampling.stop)}));
    residency_.enter(*open_.back(), 0, request->request.tokens, 0);
    return *open_.back();
  }

  bool reserve(Sequence& sequence, uint32_t n_rows, uint32_t n_again = 0) {
    Share share{&sequence, n_rows, n_again, /*all_again=*/true, /*decoding=*/false};
    const bool reserved = residency_.reserve(share, step_, open_);
    if (reserved) step_.push_back(share);
    return reserved;
  }
  void commit() {
    step_.clear();
    residency_.submit();
    residency_.commit();
    residency_.cache().check_invariants();
  }
  void abort() {
    step_.clear();
    residency_.abort();
    residency_.cache().check_invariants();
  }
  bool advance(Sequence& sequence, uint32_t n_rows, uint32_t n_again = 0) {
    const bool reserved = reserve(sequence, n_rows, n_again);
    commit();
    return reserved;
  }
  // Until all of its path is cached, in steps of n_rows rows at most. False: a step finds no room.
  bool compute(Sequence& sequence, uint32_t n_rows) {
    for (int n_steps = 0; n_steps < 100; ++n_steps) {
      const uint32_t n_again = residency_.n_again(sequence);
      const uint32_t n_missing = sequence.tip->end() - n_again - residency_.first_row(sequence);
      if (n_missing == 0) return true;
      const uint32_t n_some = std::min(n_rows, n_again);
      if (!advance(sequence, std::min(n_rows - n_some, n_missing), n_some)) return false;
    }
    return false;
  }
  void leave_all(bool keep) {
    for (const auto& sequence : open_) residency_.leave(*sequence, keep);
    open_.clear();
  }
  Residency& operator*() { return residency_; }
  Residency* operator->() { return &residency_; }

 private:
  Residency residency_;
  Sequences open_;
  std::vector<Share> step_;
};

std::string text(int length, int seed) {
  std::string text;
  for (int i = 0; i < length; ++i) text += static_cast<char>('a' + (i * 7 + seed) % 26);
  return text;
}

// It holds the first page of a branch that another sequence made in the same step.
TEST(WindowResidency, WhoGetsNoRoomLetsGoWhenTheStepFails) {
  Windowed resident(5, 100);
  Sequence& first = resident.enter("aaaaaaXX");
  ASSERT_TRUE(resident.advance(first, 8));
  Sequence& branch = resident.enter("aaaaaabb");
  Sequence& longer = resident.enter("aaaaaabbDDDDDDDDDDDDDD");
  resident.reserve(longer, 0);
  resident.commit();
  resident.reserve(first, 0);
  ASSERT_TRUE(resident.reserve(branch, 2));
  EXPECT_FALSE(resident.reserve(longer, 14));
  EXPECT_NO_THROW(resident.abort());
}

// The first sequence gets room in the memory that its path needs, though branches of it have copies
// of pages.
TEST(WindowResidency, ThePagesOfOnePathAreEnough) {
  const std::string common = text(19, 0), rest = text(60, 5);
  Windowed resident(9, 100);
  Sequence& branch = resident.enter(common + "X");
  ASSERT_TRUE(resident.advance(branch, 10) && resident.advance(branch, 10));
  Sequence& path = resident.enter(common + rest.substr(0, 13));
  ASSERT_TRUE(resident.compute(path, 20));
  resident.leave_all(/*keep=*/true);
  Sequence& asked = resident.enter(common + rest.substr(0, 15));
  asked.next_output = 17;  // log-probabilities from inside the common tokens
  EXPECT_TRUE(resident.advance(asked, 2, resident->n_again(asked)));
}

TEST(WindowResidency, TheLeastWindowPagesAreEnough) {
  const std::string common = text(19, 0), rest = text(60, 5);
  Windowed resident(100, 8);
  Sequence& branch = resident.enter(common + "X");
  ASSERT_TRUE(resident.advance(branch, 10) && resident.advance(branch, 10));
  resident.leave_all(/*keep=*/true);
  Sequence& path = resident.enter(common + rest.substr(0, 40));
  ASSERT_TRUE(resident.compute(path, 4));
  resident.leave_all(/*keep=*/true);
  for (const std::string& other : {text(12, 11), text(28, 17)}) {  // they take all window pages
    ASSERT_TRUE(resident.compute(resident.enter(other), 12));
    resident.leave_all(/*keep=*/false);
  }
  EXPECT_TRUE(resident.compute(resident.enter(common + rest.substr(0, 41)), 17));
}

// The window that an uncached request continues from belongs to others, and stays.
TEST(WindowResidency, AnUncachedRequestLeavesTheWindowOfItsDocument) {
  Windowed resident(100, 100);
  const std::string document = text(40, 0);
  Sequence& first = resident.enter(document + text(30, 3));
  Sequence& second = resident.enter(document + text(30, 9));
  ASSERT_TRUE(resident.advance(first, 40) && resident.advance(first, 30));
  ASSERT_TRUE(resident.advance(second, 30, resident->n_again(second)));
  resident->leave(first, /*keep=*/true);
  resident->leave(second, /*keep=*/true);
  Sequence& uncached = resident.enter(document + "!");
  EXPECT_EQ(resident->n_again(uncached), 0u);
  ASSERT_TRUE(resident.advance(uncached, 1));
  resident->leave(uncached, /*keep=*/false);
  EXPECT_EQ(resident->n_again(resident.enter(document + "?")), 0u);
}

}  // namespace
}  // namespace pando
