#include "lab/techniques/static_batcher.h"

#include <gtest/gtest.h>

#include "schedule/random_work.h"

namespace pando::lab {
namespace {

using namespace pando::testing;

using Item = WorkView::Item;
using Advances = std::vector<Advance>;

Item prefill(std::vector<uint32_t> segments) { return {.segments = std::move(segments)}; }
Item cached(std::vector<uint32_t> segments) { return {.again = std::move(segments)}; }

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
  const StaticBatching two{.n_rows = 100, .n_sequences = 2};
  const WorkView first{.segment_rows = {6, 7, 5},
                       .items = {prefill({0}), prefill({1}), prefill({2})}};
  EXPECT_EQ(schedule_whole(first, two), (Advances{{0, 0, 6}, {1, 0, 7}}));
  const WorkView second{.segment_rows = {1, 5}, .items = {running({0}), prefill({1})}};
  EXPECT_EQ(schedule_whole(second, two), (Advances{{0, 0, 1}}));
}

TEST(ScheduleWhole, ByLengthThenByArrival) {
  const WorkView view{.segment_rows = {6, 2, 6, 1},
                      .items = {prefill({0}), prefill({1}), prefill({2}), prefill({3})}};
  EXPECT_EQ(schedule_whole(
                view, {.n_rows = 100, .n_sequences = 3, .order = StaticBatching::Order::kLength}),
            (Advances{{3, 0, 1}, {1, 0, 2}, {0, 0, 6}}));
}

// Three bins of ten hold all six.
TEST(ScheduleWhole, BinsStartNoMoreThanMay) {
  WorkView view{.segment_rows = {10, 5, 5, 3, 3, 2},
                .items = {prefill({0}), prefill({1}), prefill({2}), prefill({3}), prefill({4}),
                          prefill({5})}};
  const StaticBatching bins{.n_rows = 100, .n_sequences = 3, .order = StaticBatching::Order::kBins};
  EXPECT_EQ(schedule_whole(view, bins).size(), 6u);
  view.n_starts = 4;
  EXPECT_EQ(schedule_whole(view, bins), (Advances{{0, 0, 10}, {1, 0, 5}, {2, 0, 5}, {3, 0, 3}}));
}

TEST(ScheduleWhole, ARectangleCostsItsLongestRow) {
  const WorkView view{.segment_rows = {2, 6, 1},
                      .items = {prefill({0}), prefill({1}), prefill({2})}};
  const auto advances = [&](uint32_t n_rows) {
    return schedule_whole(
               view,
               {.n_rows = n_rows, .n_sequences = 9, .shape = StaticBatching::Shape::kRectangle})
        .size();
  };
  EXPECT_EQ(advances(18), 3u);
  EXPECT_EQ(advances(17), 2u);
  EXPECT_EQ(advances(11), 1u);
}

// The longest prompt has eight tokens: beside it 4 and 4 are one bin, 5 and 5 two.
TEST(ScheduleWhole, BinsCostTheirPads) {
  const auto n_started = [](std::vector<uint32_t> rows, uint32_t n_rows,
                            StaticBatching::Order order) {
    WorkView view{.segment_rows = std::move(rows)};
    for (uint32_t i = 0; i < view.segment_rows.size(); ++i) view.items.push_back(prefill({i}));
    return schedule_whole(view, {.n_rows = n_rows,
                                 .n_sequences = 9,
                                 .order = order,
                                 .shape = StaticBatching::Shape::kBins})
        .size();
  };
  for (const auto order : {StaticBatching::Order::kArrival, StaticBatching::Order::kBins}) {
    EXPECT_EQ(n_started({8, 5, 5}, 23, order), 2u) << "18 tokens, but 24 rows";
    EXPECT_EQ(n_started({8, 5, 5}, 24, order), 3u);
    EXPECT_EQ(n_started({8, 5}, 15, order), 1u);
  }
  EXPECT_EQ(n_started({8, 4, 4, 5}, 23, StaticBatching::Order::kArrival), 3u);
  // One of 2,048 and 13 of 1,100 tokens are 16,348 tokens; each fills a bin of its own.
  std::vector<uint32_t> uneven(14, 1100);
  uneven[0] = 2048;
  EXPECT_EQ(n_started(uneven, 16384, StaticBatching::Order::kArrival), 8u);
}

// What a batcher asks to see, with so many that run.
Sight sight(const StaticBatching& batching, size_t n_running) {
  StaticBatcher batcher(batching);
  return batcher.sight(
      {.n_running = n_running, .waiting = [] { return std::vector<WaitingPrompt>(); }});
}

TEST(StaticBatcher, LooksAtWhatWaitsOnlyWhereABatchMayBegin) {
  EXPECT_EQ(sight({.n_rows = 9}, 3).n_rows, 9u);
  EXPECT_GT(sight({.n_rows = 9}, 3).n_waiting, 1'000'000u) << "they come and go";
  EXPECT_EQ(sight({.n_rows = 9, .n_sequences = 2}, 3).n_waiting, 0u);
  EXPECT_GT(sight({.n_rows = 9, .n_sequences = 2}, 0).n_waiting, 0u);
  EXPECT_FALSE(sight({.n_rows = 9, .n_sequences = 2}, 0).any_order);
  const Sight sorted =
      sight({.n_rows = 9, .n_sequences = 2, .order = StaticBatching::Order::kLength}, 0);
  EXPECT_TRUE(sorted.any_order);
  EXPECT_GT(sorted.n_rows, 1'000'000u) << "any may be the shortest";
}

}  // namespace
}  // namespace pando::lab
