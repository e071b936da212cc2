#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedule/random_work.h"

namespace pando {

namespace {

using namespace testing;

using Item = WorkView::Item;
using Advances = std::vector<Advance>;

Item prefill(std::vector<uint32_t> segments) { return {.segments = std::move(segments)}; }
Item decode(std::vector<uint32_t> segments) {
  return {.decoding = true, .segments = std::move(segments)};
}
Item cached(std::vector<uint32_t> segments) { return {.again = std::move(segments)}; }

TEST(ScheduleFcfs, NothingToDo) { EXPECT_TRUE(schedule_fcfs({}, 10).empty()); }

TEST(ScheduleFcfs, PrefillInOrderOfArrivalUpToTheBudget) {
  const WorkView view{.segment_rows = {6, 6, 6},
                      .items = {prefill({0}), prefill({1}), prefill({2})}};
  EXPECT_EQ(schedule_fcfs(view, 100), (Advances{{0, 0, 6}, {1, 0, 6}, {2, 0, 6}}));
  EXPECT_EQ(schedule_fcfs(view, 12), (Advances{{0, 0, 6}, {1, 0, 6}}));
  EXPECT_EQ(schedule_fcfs(view, 8), (Advances{{0, 0, 6}, {1, 0, 2}}));
  EXPECT_EQ(schedule_fcfs(view, 4), (Advances{{0, 0, 4}}));
  EXPECT_TRUE(schedule_fcfs(view, 0).empty());
}

// The second item is on another part than the first and the last.
TEST(ScheduleFcfs, PartsOfThePositionsShareTheBudget) {
  WorkView view{.segment_rows = {10, 10, 10},
                .items = {prefill({0}), prefill({1}), prefill({2})},
                .ranks = {.n_parts = 2, .block_len = 100}};
  view.items[1].part = 1;
  EXPECT_EQ(schedule_fcfs(view, 12), (Advances{{0, 0, 6}, {1, 0, 6}}));
  EXPECT_EQ(schedule_fcfs(view, 24), (Advances{{0, 0, 10}, {1, 0, 10}, {2, 0, 4}}));
  view.items[1].part = 0;
  EXPECT_EQ(schedule_fcfs(view, 12), (Advances{{0, 0, 10}, {1, 0, 2}})) << "no other part";
  view.items[1].decoding = true;
  view.items[2].part = 1;
  EXPECT_EQ(schedule_fcfs(view, 14), (Advances{{1, 0, 10}, {0, 0, 2}, {2, 0, 2}}));
}

TEST(ScheduleFcfs, DecodesGoFirst) {
  const WorkView view{.segment_rows = {6, 1, 6, 1},
                      .items = {prefill({0}), decode({1}), prefill({2}), decode({3})}};
  EXPECT_EQ(schedule_fcfs(view, 5), (Advances{{1, 0, 1}, {3, 0, 1}, {0, 0, 3}}));
  EXPECT_EQ(schedule_fcfs(view, 1), (Advances{{1, 0, 1}}));
}

TEST(ScheduleFcfs, SharedSegmentsCountOnce) {
  const WorkView view{.segment_rows = {10, 2, 3}, .items = {prefill({0, 1}), prefill({0, 2})}};
  EXPECT_EQ(schedule_fcfs(view, 15), (Advances{{0, 0, 12}, {1, 0, 3}}));
  EXPECT_EQ(schedule_fcfs(view, 13), (Advances{{0, 0, 12}, {1, 0, 1}}));
  EXPECT_EQ(schedule_fcfs(view, 11), (Advances{{0, 0, 11}}));
}

TEST(ScheduleFcfs, FreeRidersAdvanceWithoutBudget) {
  // The second is a duplicate, the third a prefix; the fourth needs a row of its own.
  const WorkView view{.segment_rows = {4, 4, 1},
                      .items = {prefill({0, 1}), prefill({0, 1}), prefill({0}), prefill({0, 2})}};
  EXPECT_EQ(schedule_fcfs(view, 8), (Advances{{0, 0, 8}, {1, 0, 0}, {2, 0, 0}}));
  EXPECT_EQ(schedule_fcfs(view, 7), (Advances{{0, 0, 7}, {2, 0, 0}}));
  EXPECT_EQ(schedule_fcfs(view, 3), (Advances{{0, 0, 3}}));
}

TEST(ScheduleFcfs, CachedItemsCostTheirRows) {
  const WorkView view{.segment_rows = {4, 1, 1}, .items = {cached({1}), prefill({0}), cached({2})}};
  EXPECT_EQ(schedule_fcfs(view, 6), (Advances{{0, 1, 0}, {1, 0, 4}, {2, 1, 0}}));
  EXPECT_EQ(schedule_fcfs(view, 5), (Advances{{0, 1, 0}, {1, 0, 4}}));
  EXPECT_EQ(schedule_fcfs(view, 1), (Advances{{0, 1, 0}}));
  EXPECT_TRUE(schedule_fcfs(view, 0).empty());
}

TEST(ScheduleFcfs, CachedRowsAreSharedToo) {
  const WorkView view{.segment_rows = {9, 1}, .items = {cached({0}), cached({0}), cached({0, 1})}};
  EXPECT_EQ(schedule_fcfs(view, 10), (Advances{{0, 9, 0}, {1, 9, 0}, {2, 10, 0}}));
  EXPECT_EQ(schedule_fcfs(view, 9), (Advances{{0, 9, 0}, {1, 9, 0}}));
}

TEST(ScheduleFcfs, CachedRowsComeBeforeNewOnes) {
  const WorkView view{.segment_rows = {3, 4}, .items = {{.again = {0}, .segments = {1}}}};
  EXPECT_EQ(schedule_fcfs(view, 7), (Advances{{0, 3, 4}}));
  EXPECT_EQ(schedule_fcfs(view, 5), (Advances{{0, 3, 2}}));
  EXPECT_EQ(schedule_fcfs(view, 2), (Advances{{0, 2, 0}}));
}

TEST(ScheduleFcfs, WhoWantsAllOutputsGoesAlongWithOthers) {
  const Item scoring{.segments = {0}, .wants_all_outputs = true};
  const WorkView view{.segment_rows = {8}, .items = {prefill({0}), scoring, prefill({0})}};
  EXPECT_EQ(schedule_fcfs(view, 5), (Advances{{0, 0, 5}, {1, 0, 0}}));
  EXPECT_EQ(schedule_fcfs(view, 8), (Advances{{0, 0, 8}, {1, 0, 0}, {2, 0, 0}}));
  const Item again{.again = {0}, .wants_all_outputs = true};
  const WorkView cached_view{.segment_rows = {8}, .items = {again, again}};
  EXPECT_EQ(schedule_fcfs(cached_view, 5), (Advances{{0, 5, 0}, {1, 5, 0}}));
}

// --- random work ---------------------------------------------------------------------------------

TEST(ScheduleFcfs, RandomWorkIsDoneInOrderAndNoneIsLost) {
  std::mt19937 rng(1);
  for (int round = 0; round < 5000; ++round) {
    WorkView view = random_work(rng);
    const uint32_t budget = 1 + rng() % 20;
    const uint32_t n_steps = (work_left(view) + budget - 1) / budget;
    for (uint32_t step = 0; !view.items.empty(); ++step) {
      ASSERT_LT(step, n_steps);
      const uint32_t n_left = work_left(view);
      const Advances advances = schedule_fcfs(view, budget);
      std::vector<bool> seen(view.items.size());
      WorkView after = view;
      for (size_t i = 0; i < advances.size(); ++i) {
        const Item& item = view.items.at(advances[i].item);
        ASSERT_FALSE(seen[advances[i].item]);
        seen[advances[i].item] = true;
        if (i > 0) {
          const Item& previous = view.items[advances[i - 1].item];
          ASSERT_GE(previous.decoding, item.decoding);
          ASSERT_TRUE(previous.decoding != item.decoding ||
                      advances[i - 1].item < advances[i].item);
        }
      }
      const uint32_t cost = carry_out(after, advances, /*in_order=*/true).n_rows;
      ASSERT_EQ(cost, std::min(budget, n_left)) << "work conserving, within the budget";
      if (HasFailure()) return;
      ASSERT_EQ(work_left(after), n_left - cost);
      view = std::move(after);
    }
  }
}

}  // namespace
}  // namespace pando
