// What a residency takes for one sequence, and from which others, without an engine around it.
#include "engine/residency.h"

#include <gtest/gtest.h>

namespace pando::testing {
namespace {

constexpr size_t kPlenty = 100;

class ResidencyTest : public ::testing::Test {
 protected:
  // Pages have 4 positions.
  void make(size_t n_pages, size_t n_slots) {
    residency_.emplace(
        ResidencySizes{.n_pages = n_pages, .page_len = 4, .n_slots = n_slots, .place_every = 1000},
        nullptr);
  }
  // The youngest so far.
  Sequence& enter(std::string_view prompt) {
    auto request = std::make_shared<ActiveRequest>();
    request->request.tokens.assign(prompt.begin(), prompt.end());
    open_.push_back(
        std::make_unique<Sequence>(Sequence{.request = request,
                                            .order = open_.size(),
                                            .max_tokens = 10,
                                            .next_output = static_cast<uint32_t>(prompt.size() - 1),
                                            .stops = StopMatcher(request->request.sampling.stop)}));
    residency_->enter(*open_.back(), /*isolation_key=*/0, request->request.tokens, 0);
    return *open_.back();
  }
  // A step of its own, in which it computes n_rows new rows.
  bool advance(Sequence& sequence, uint32_t n_rows) {
    Share share{&sequence, n_rows, /*n_again=*/0, /*all_again=*/true, /*decoding=*/false};
    const Share also{also_, 0, 0, true, false};
    const bool done = residency_->reserve(share, {&also, also_ != nullptr ? 1u : 0u}, open_);
    residency_->commit();
    residency_->cache().check_invariants();
    return done;
  }

  std::optional<Residency> residency_;
  Sequences open_;
  Sequence* also_ = nullptr;  // has a part in each step
};

TEST_F(ResidencyTest, AShortageOfSlotsPreemptsWhoHoldsAnotherPlace) {
  make(kPlenty, 3);
  Sequence& old = enter("aaaaaaaa");
  Sequence& young = enter("bbbbbbbb");
  Sequence& youngest = enter("cccccccc");
  ASSERT_TRUE(advance(old, 4) && advance(young, 4) && advance(youngest, 4));
  EXPECT_TRUE(advance(old, 2));
  EXPECT_EQ(residency_->n_preemptions(), 1u);
  EXPECT_TRUE(young.running);
  EXPECT_FALSE(youngest.running);
}

// Its pages are its own, but they are not what is missing.
TEST_F(ResidencyTest, AShortageOfSlotsPreemptsNobodyWhosePlaceOthersHoldToo) {
  make(kPlenty, 2);
  Sequence& oldest = enter("wwwwwwww");
  Sequence& old = enter("aaaaxxxx");
  Sequence& young = enter("aaaayyyy");
  ASSERT_TRUE(advance(oldest, 4) && advance(old, 4) && advance(young, 0));
  ASSERT_EQ(old.place, young.place);
  also_ = &oldest;
  EXPECT_FALSE(advance(old, 2));
  EXPECT_EQ(residency_->n_preemptions(), 0u);
  EXPECT_TRUE(young.running);
}

// Two that go on from one place make room together.
TEST_F(ResidencyTest, AShortageOfSlotsPreemptsAllWhoHoldAPlace) {
  make(kPlenty, 2);
  Sequence& old = enter("wwwwwwww");
  Sequence& young = enter("aaaaxxxx");
  Sequence& youngest = enter("aaaayyyy");
  ASSERT_TRUE(advance(old, 4) && advance(young, 4) && advance(youngest, 0));
  ASSERT_EQ(young.place, youngest.place);
  EXPECT_TRUE(advance(old, 2));
  EXPECT_EQ(residency_->n_preemptions(), 2u);
}

// It holds a place of its own, but that is not what is missing.
TEST_F(ResidencyTest, AShortageOfPagesPreemptsNobodyWhosePathOthersRunOn) {
  make(/*n_pages=*/3, kPlenty);
  Sequence& oldest = enter("wwww");
  Sequence& old = enter("aaaaaaaaaaaa");
  Sequence& young = enter("aaaaaaa");
  ASSERT_TRUE(advance(oldest, 3) && advance(old, 4) && advance(young, 0) && advance(old, 4));
  ASSERT_TRUE(young.place != nullptr && young.place != old.place);
  also_ = &oldest;
  EXPECT_FALSE(advance(old, 4));
  EXPECT_EQ(residency_->n_preemptions(), 0u);
}

TEST_F(ResidencyTest, AShortageOfPagesPreemptsWhoHasSomeOfItsOwn) {
  make(/*n_pages=*/3, kPlenty);
  Sequence& old = enter("aaaaaaaaaaaa");
  Sequence& young = enter("bbbb");
  ASSERT_TRUE(advance(old, 8) && advance(young, 3));
  EXPECT_TRUE(advance(old, 4));
  EXPECT_EQ(residency_->n_preemptions(), 1u);
  EXPECT_FALSE(young.running);
}

}  // namespace
}  // namespace pando::testing
