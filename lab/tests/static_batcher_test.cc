#include "lab/techniques/static_batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lab/techniques/bin_packing.h"
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

// The number of prompts that start by the literal rule, which counts bins after each added prompt.
size_t started_plainly(const std::vector<uint32_t>& rows, uint32_t n_rows, size_t n_sequences) {
  std::vector<uint32_t> lengths;
  for (const uint32_t length : rows) {
    if (lengths.size() == n_sequences) break;
    lengths.push_back(length);
    const uint32_t longest = std::ranges::max(lengths);
    if (lengths.size() > 1 && first_fit_decreasing(lengths, longest).size() * longest > n_rows)
      return lengths.size() - 1;
  }
  return lengths.size();
}

size_t started_in_bins(const std::vector<uint32_t>& rows, uint32_t n_rows, uint32_t n_sequences) {
  WorkView view{.segment_rows = rows};
  for (uint32_t i = 0; i < rows.size(); ++i) view.items.push_back(prefill({i}));
  return schedule_whole(
             view,
             {.n_rows = n_rows, .n_sequences = n_sequences, .shape = StaticBatching::Shape::kBins})
      .size();
}

TEST(ScheduleWhole, BinsCostAsByTheRuleWordForWord) {
  std::mt19937 rng(1);
  int n_cut = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<uint32_t> rows(1 + rng() % 50);
    for (uint32_t& n : rows) n = 1 + rng() % (round % 2 == 0 ? 9 : 60);
    const uint32_t n_rows = 1 + rng() % 1000, n_sequences = 1 + rng() % 50;
    const size_t n = started_plainly(rows, n_rows, n_sequences);
    n_cut += n < std::min<size_t>(rows.size(), n_sequences);
    ASSERT_EQ(started_in_bins(rows, n_rows, n_sequences), n) << round;
  }
  EXPECT_GT(n_cut, 100);
}

// Counting the bins after each prompt would take hours.
TEST(ScheduleWhole, ManyPromptsInBins) {
  std::mt19937 rng(2);
  std::vector<uint32_t> rows(30'000);
  uint64_t sum = 0;
  for (uint32_t& n : rows) sum += n = 1 + rng() % 64;
  EXPECT_EQ(started_in_bins(rows, static_cast<uint32_t>(sum + sum / 100), 1 << 20), rows.size());
}

// Returns what a batcher asks to see, with so many that run.
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
