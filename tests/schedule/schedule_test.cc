#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace pando {

bool operator==(const Advance& a, const Advance& b) {
  return a.item == b.item && a.n_again == b.n_again && a.n_rows == b.n_rows;
}
void PrintTo(const Advance& a, std::ostream* out) {
  *out << "item " << a.item << " by " << a.n_again << " again and " << a.n_rows;
}

namespace {

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

// Segments as the nodes of random trees; an item's are a path from a root.
WorkView random_work(std::mt19937& rng) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  WorkView view;
  std::vector<std::vector<uint32_t>> path;
  for (uint32_t segment = 0, n = 1 + below(12); segment < n; ++segment) {
    view.segment_rows.push_back(1 + below(rng() % 3 == 0 ? 30 : 3));
    path.push_back(segment > 0 && below(4) > 0 ? path[below(segment)] : std::vector<uint32_t>());
    path.back().push_back(segment);
  }
  const uint32_t n_missing = static_cast<uint32_t>(view.segment_rows.size());
  for (uint32_t i = 0, n = 1 + below(4); i < n; ++i) view.segment_rows.push_back(1 + below(3));
  for (uint32_t i = 0, n = below(14); i < n; ++i) {
    Item item{.wants_all_outputs = below(4) == 0};
    const bool is_cached = below(6) == 0;
    if (is_cached || below(8) == 0)
      item.again.push_back(n_missing + below(view.segment_rows.size() - n_missing));
    item.decoding = !is_cached && below(3) == 0;
    if (!is_cached) item.segments = path[below(path.size())];
    view.items.push_back(std::move(item));
  }
  return view;
}

// Rows that the items still need, each once.
uint32_t work_left(const WorkView& view) {
  std::set<uint32_t> segments;
  uint32_t n = 0;
  for (const Item& item : view.items) {
    segments.insert(item.segments.begin(), item.segments.end());
    segments.insert(item.again.begin(), item.again.end());
  }
  for (const uint32_t segment : segments) n += view.segment_rows[segment];
  return n;
}

// Carries out one step: takes the rows and removes the items that are through. Returns the rows
// taken.
uint32_t advance(WorkView& view, const Advances& advances) {
  std::vector<uint32_t> left = view.segment_rows;
  uint32_t n_taken = 0;
  std::vector<bool> through(view.items.size());
  bool refused = false;  // somebody before wanted more than there was
  for (const Advance& advance : advances) {
    const Item& item = view.items[advance.item];
    const uint32_t n_before = n_taken;
    bool complete = true;
    uint32_t n_again = advance.n_again, n_rows = advance.n_rows;
    for (const uint32_t segment : item.again) {  // counted from the segment's beginning
      const uint32_t n = std::min(n_again, view.segment_rows[segment]);
      const uint32_t n_left = std::min(left[segment], view.segment_rows[segment] - n);
      n_taken += left[segment] - n_left;
      left[segment] = n_left;
      n_again -= n;
      complete &= n_left == 0;
    }
    EXPECT_TRUE(complete || n_rows == 0) << "new rows before cached ones";
    for (const uint32_t segment : item.segments) {
      const uint32_t n = std::min(n_rows, left[segment]);
      left[segment] -= n;
      n_taken += n;
      n_rows -= n;
      complete &= left[segment] == 0;
    }
    EXPECT_EQ(n_again + n_rows, 0u) << "more rows than its path has";
    EXPECT_TRUE(complete || n_taken > n_before || item.wants_all_outputs)
        << "an advance that changes nothing";
    EXPECT_TRUE(!refused || n_taken == n_before) << "overtakes an older one";
    refused |= !complete;
    through[advance.item] = complete;
  }
  view.segment_rows = left;
  std::vector<Item> rest;
  for (size_t i = 0; i < view.items.size(); ++i)
    if (!through[i]) rest.push_back(view.items[i]);
  view.items = std::move(rest);
  return n_taken;
}

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
      const uint32_t cost = advance(after, advances);
      ASSERT_EQ(cost, std::min(budget, n_left)) << "work conserving, within the budget";
      if (HasFailure()) return;
      ASSERT_EQ(work_left(after), n_left - cost);
      view = std::move(after);
    }
  }
}

// --- whole prompts -------------------------------------------------------------------------------

Item running(std::vector<uint32_t> segments) {
  return {.running = true, .decoding = true, .segments = std::move(segments)};
}

TEST(ScheduleWhole, PromptsAreNotCut) {
  const WorkView view{.segment_rows = {6, 7, 2, 3},
                      .items = {prefill({0}), prefill({1}), prefill({2, 3})}};
  EXPECT_EQ(schedule_whole(view, {.n_rows = 100}), (Advances{{0, 0, 6}, {1, 0, 7}, {2, 0, 5}}));
  EXPECT_EQ(schedule_whole(view, {.n_rows = 13}), (Advances{{0, 0, 6}, {1, 0, 7}}));
  EXPECT_EQ(schedule_whole(view, {.n_rows = 12}), (Advances{{0, 0, 6}}));
  EXPECT_EQ(schedule_whole(view, {.n_rows = 1}), (Advances{{0, 0, 6}})) << "at least one";
}

TEST(ScheduleWhole, RunningOnesGoFirst) {
  const WorkView view{.segment_rows = {6, 1, 1, 4},
                      .items = {prefill({0}), running({1}), running({2}), cached({3})}};
  EXPECT_EQ(schedule_whole(view, {.n_rows = 12}),
            (Advances{{1, 0, 1}, {2, 0, 1}, {0, 0, 6}, {3, 4, 0}}));
  EXPECT_EQ(schedule_whole(view, {.n_rows = 7}), (Advances{{1, 0, 1}, {2, 0, 1}}));
}

TEST(ScheduleWhole, AStaticBatchEndsBeforeTheNext) {
  const Batching two{.n_rows = 100, .n_sequences = 2};
  const WorkView first{.segment_rows = {6, 7, 5},
                       .items = {prefill({0}), prefill({1}), prefill({2})}};
  EXPECT_EQ(schedule_whole(first, two), (Advances{{0, 0, 6}, {1, 0, 7}}));
  const WorkView second{.segment_rows = {1, 5}, .items = {running({0}), prefill({1})}};
  EXPECT_EQ(schedule_whole(second, two), (Advances{{0, 0, 1}}));
}

TEST(ScheduleWhole, ByLengthThenByArrival) {
  const WorkView view{.segment_rows = {6, 2, 6, 1},
                      .items = {prefill({0}), prefill({1}), prefill({2}), prefill({3})}};
  EXPECT_EQ(
      schedule_whole(view, {.n_rows = 100, .n_sequences = 3, .order = Batching::Order::kLength}),
      (Advances{{3, 0, 1}, {1, 0, 2}, {0, 0, 6}}));
}

TEST(ScheduleWhole, ARectangleCostsItsLongestRow) {
  const WorkView view{.segment_rows = {2, 6, 1},
                      .items = {prefill({0}), prefill({1}), prefill({2})}};
  const auto advances = [&](uint32_t n_rows) {
    return schedule_whole(view, {.n_rows = n_rows, .n_sequences = 9, .rectangular = true}).size();
  };
  EXPECT_EQ(advances(18), 3u);
  EXPECT_EQ(advances(17), 2u);
  EXPECT_EQ(advances(11), 1u);
}

}  // namespace
}  // namespace pando
