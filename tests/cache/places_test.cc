// Places of several steps in flight.
#include "cache/places.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/check.h"
#include "cache/kv_cache.h"

namespace pando {
namespace {

// A path of eight tokens that steps of two rows compute, with a held place behind each.
class PlacesInFlight : public ::testing::Test {
 protected:
  PlacesInFlight() : pool_(8), cache_(pool_, /*page_len=*/4, /*n_slots=*/3) {
    tip_ = cache_.acquire(0, std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8});
    cache_.lock(tip_);
  }
  ~PlacesInFlight() override {
    cache_.unlock(tip_);
    cache_.release(tip_);
    cache_.check_invariants();
  }
  Places& places() { return cache_.places(); }

  // Null: there is no slot.
  Place* submit(uint32_t position) {
    const Extent extent{tip_, 2};
    EXPECT_TRUE(cache_.reserve({&extent, 1}));
    Place* place = places().add(tip_, position);
    if (place != nullptr) places().hold(*place);
    EXPECT_EQ(places().n_added(), place == nullptr ? 0u : 1u);
    cache_.submit();
    cache_.check_invariants();
    return place;
  }

  PagePool pool_;
  KvCache cache_;
  Node* tip_;
};

TEST_F(PlacesInFlight, APathGoesOnFromAPlaceOfASubmittedStep) {
  const Extent extent{tip_, 2};
  ASSERT_TRUE(cache_.reserve({&extent, 1}));
  Place* const place = places().add(tip_, 2);
  places().hold(*place);
  EXPECT_EQ(places().nearest(tip_, 8), nullptr) << "the same step writes it";
  cache_.submit();
  EXPECT_EQ(places().nearest(tip_, 8), place);
  cache_.commit();
  EXPECT_EQ(places().nearest(tip_, 8), place);
  places().release(*place);
  EXPECT_EQ(places().n_used(), 0u);
}

TEST_F(PlacesInFlight, ASlotIsFreeAgainWhileItsStepIsInFlight) {
  Place* const first = submit(2);
  const StateSlot slot = first->slot;
  places().release(*first);
  EXPECT_EQ(places().n_used(), 0u);
  Place* const second = submit(4);
  EXPECT_EQ(second->slot, slot) << "the next step writes it again";
  cache_.commit();
  EXPECT_EQ(places().nearest(tip_, 8), second);
  cache_.commit();
  places().release(*second);
}

TEST_F(PlacesInFlight, AHeldPlaceOfAStepInFlightKeepsItsSlot) {
  std::vector<Place*> held;
  for (const uint32_t position : {2, 4, 6}) held.push_back(submit(position));
  EXPECT_EQ(submit(8), nullptr) << "all slots are held";
  for (int i = 0; i < 4; ++i) cache_.commit();
  cache_.check_invariants();
  EXPECT_EQ(places().n_used(), 3u);
  for (Place* place : held) places().release(*place);
}

TEST_F(PlacesInFlight, AFailedStepTakesThePlacesOfLaterOnesWithIt) {
  Place* const first = submit(2);
  Place* const second = submit(4);
  cache_.commit();
  Place* const third = submit(6);
  for (Place* place : {second, third}) {
    place->kept = true;
    places().release(*place);
  }
  EXPECT_EQ(places().nearest(tip_, 8), third);
  cache_.abort_all();
  cache_.check_invariants();
  EXPECT_EQ(places().nearest(tip_, 8), first);
  EXPECT_EQ(places().n_used(), 1u);
  Place* const again = submit(4);
  EXPECT_EQ(places().nearest(tip_, 8), again);
  cache_.commit();
  for (Place* place : {first, again}) places().release(*place);
}

TEST_F(PlacesInFlight, ASequenceLetsGoBeforeItsStepIsTakenBack) {
  Place* const place = submit(2);
  EXPECT_THROW(places().abort_all(), BugError) << "it is held";
  places().release(*place);
  cache_.abort_all();
}

}  // namespace
}  // namespace pando
