// Predicted times over stages, and over parts of the positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "schedule/part_loads.h"
#include "schedule/remaining.h"
#include "schedule/step_draft.h"

namespace pando {
namespace {

constexpr RankShape kTwoStages = {.n_stages = 2, .depth = 2, .slice_rows = 128};
constexpr RankShape kTwoParts = {.n_parts = 2, .block_len = 100, .part_rows = 16};
constexpr StepCosts kRowCosts = {.step = 2, .row = {1, 1, 1, 1, 1}};

TEST(PartLoads, CountTheBusiestPart) {
  PartLoads loads(kTwoParts);
  loads.add_rows(0, 0, 4);  // 1 + 2 + 3 + 4
  loads.add_rows(1, 0, 2);
  loads.add_reads(1, 0, 30);
  const StepFeatures step = loads.of_busiest({.rows = 6, .keys = 13, .reads = 30});
  EXPECT_EQ(step, (StepFeatures{.rows = 6, .keys = 10, .reads = 30}));
}

TEST(PartLoads, DivideTheBlocksOfAPath) {
  // Blocks of 100 on parts 0, 1 and 0; rows 240 and 241.
  EXPECT_EQ(chunk_features(kTwoParts, 240, 2),
            (StepFeatures{.rows = 2, .keys = 2 * 100 + 41 + 42, .reads = 140, .moved = 2}));
  // Rows 98 to 101 see 99, 100, 100 and 100 positions of the first block.
  EXPECT_EQ(chunk_features(kTwoParts, 98, 4),
            (StepFeatures{.rows = 4, .keys = 399, .reads = 98, .moved = 4}));
}

TEST(PartLoads, ManyRowsOfOnePartMove) {
  EXPECT_EQ(chunk_features(kTwoParts, 0, 31).moved, 0) << "too few to be divided";
  EXPECT_EQ(chunk_features(kTwoParts, 0, 64).moved, 32);
  PartLoads loads(kTwoParts);
  loads.add_rows(0, 0, 60);
  loads.add_rows(1, 0, 40);
  EXPECT_EQ(loads.of_busiest({.rows = 100}).moved, 0) << "about even";
}

TEST(PartLoads, OnePartHasAll) {
  PartLoads loads{RankShape()};
  loads.add_rows(0, 5, 7);
  EXPECT_EQ(loads.of_busiest({.rows = 3, .keys = 4}), (StepFeatures{.rows = 3, .keys = 4}));
  EXPECT_EQ(chunk_features({}, 100, 2), (StepFeatures{.rows = 2, .keys = 203, .reads = 100}));
}

TEST(PartLoads, ADraftKnowsWherePathsBegin) {
  const auto keys = [](uint32_t second_part) {
    WorkView view{.segment_rows = {10, 10},
                  .items = {{.segments = {0}, .cached = {0}, .part = 0},
                            {.segments = {1}, .cached = {1}, .part = second_part}},
                  .ranks = kTwoParts,
                  .segment_begin = {20, 20},
                  .cached_rows = {20, 20},
                  .cached_begin = {0, 0}};
    StepDraft draft(view);
    draft.take(0, 10);
    const StepFeatures step = draft.with(1, 10);
    draft.take(1, 10);
    EXPECT_EQ(draft.features(), step);
    return std::pair(step.keys, step.reads);
  };
  EXPECT_EQ(keys(1), std::pair(255.0, 20.0));
  EXPECT_EQ(keys(0), std::pair(510.0, 40.0));
}

TEST(Stages, SlicesFlowThroughThem) {
  const Predictor machine(kRowCosts, kTwoStages);
  EXPECT_EQ(machine.seconds({.rows = 100}), 102) << "one slice goes through both";
  EXPECT_EQ(machine.seconds({.rows = 512}), 5 * 130.0 / 2);
  EXPECT_EQ(machine.seconds({.rows = 130}), 130.0 / 2 + 130.0 / 2 + 4.0 / 2);
  EXPECT_EQ(machine.interval({.rows = 100}).sum(), 51);
  EXPECT_EQ(machine.interval({.rows = 512}).sum(), 4 * 130.0 / 2);
}

TEST(Stages, AStepWaitsForThoseInFlight) {
  const Predictor machine(kRowCosts, kTwoStages);
  EXPECT_EQ(machine.seconds({.rows = 100, .before = 1}), 102);
  EXPECT_EQ(machine.seconds({.rows = 512, .before = 1}), 8 * 130.0 / 2);
  StepCosts costs = kRowCosts;
  costs.head = 10;
  costs.output = 1;
  const Predictor with_head(costs, kTwoStages);
  EXPECT_EQ(with_head.seconds({.rows = 100, .outputs = 5}), 117);
  EXPECT_EQ(with_head.seconds({.rows = 100, .outputs = 5, .before = 1}), 2 * (51 + 15.0 / 2))
      << "the stage of the head has fewer layers";
  RankShape one = kTwoStages;
  one.depth = 1;
  EXPECT_EQ(Predictor(kRowCosts, one).interval({.rows = 512}).sum(), 5 * 130.0 / 2);
}

TEST(Stages, CostsAreThoseOfAllStages) {
  const Predictor machine({.step = 2e-3, .row = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3}, .key = 1e-6},
                          kTwoStages);
  std::vector<StepSample> samples;
  for (const double rows : {1.0, 8.0, 20.0, 64.0, 128.0, 512.0})
    for (const double begin : {0.0, 500.0, 1500.0}) {
      const StepFeatures step{.rows = rows, .keys = keys_seen(begin, rows)};
      samples.push_back({step, machine.seconds(step)});
    }
  const Predictor fitted = fit_predictor(samples, {}, kTwoStages).value();
  EXPECT_NEAR(fitted.costs().step, 2e-3, 1e-5);
  EXPECT_NEAR(fitted.costs().row[3], 1e-3, 1e-5);
  EXPECT_NEAR(fitted.costs().key, 1e-6, 1e-8);
  const StepFeatures step{.rows = 512, .keys = keys_seen(9000, 512), .before = 1};
  EXPECT_NEAR(fitted.seconds(step), machine.seconds(step), 0.01 * machine.seconds(step));
}

// A prefill alone takes 1 / S of the work of its chunks, and the way of the last slice.
TEST(Stages, APrefillKeepsThemBusy) {
  const Predictor machine(kRowCosts, kTwoStages), whole(kRowCosts);
  const double none = std::numeric_limits<double>::infinity();
  const RemainingTable over_stages(machine, none, 4096, 512), alone(whole, none, 4096, 128);
  EXPECT_NEAR(over_stages.seconds(4096, 0), alone.seconds(4096, 0) / 2 + 130.0 / 2, 1e-6);
  EXPECT_NEAR(over_stages.seconds(4096, 2048), alone.seconds(4096, 2048) / 2 + 130.0 / 2, 1e-6);
  EXPECT_EQ(over_stages.seconds(4096, 4096), 3);
}

// The time of a prefill alone in steps of n_rows, slice by slice and stage by stage.
double simulated(const StepCosts& costs, const RankShape& ranks, uint32_t n_tokens,
                 uint32_t n_rows) {
  RankShape one_stage = ranks;
  one_stage.n_stages = one_stage.depth = 1;
  one_stage.slice_rows = 0;
  const Predictor slice(costs, one_stage);
  std::vector<double> stage_ends(ranks.n_stages, 0), step_ends;
  for (uint32_t begin = 0; begin < n_tokens; begin += n_rows) {
    const size_t n_before = step_ends.size();
    double end = 0;
    for (uint32_t at = begin; at < begin + n_rows; at += ranks.slice_rows) {
      const double seconds =
          slice.seconds(chunk_features(one_stage, at, ranks.slice_rows)) / ranks.n_stages;
      end = n_before < ranks.depth ? 0 : step_ends[n_before - ranks.depth];
      for (double& stage_end : stage_ends) end = stage_end = std::max(end, stage_end) + seconds;
    }
    step_ends.push_back(end);
  }
  return step_ends.back();
}

TEST(Stages, PrefillsTakeAsLongAsSimulatedSliceBySlice) {
  const StepCosts costs{
      .step = 0.02, .row = {2e-3, 1e-3, 1e-3, 1e-3, 1e-3}, .key = 2e-7, .read = 1e-6, .move = 1e-4};
  const double none = std::numeric_limits<double>::infinity();
  for (const uint32_t n_stages : {1u, 2u, 3u})
    for (const uint32_t n_parts : {1u, 2u, 4u})
      for (const uint32_t n_rows : {128u, 512u}) {
        const RankShape ranks{.n_stages = n_stages,
                              .depth = n_stages,
                              .slice_rows = 128,
                              .n_parts = n_parts,
                              .block_len = 2048,
                              .part_rows = 16};
        const RemainingTable table(Predictor(costs, ranks), none, 16384, n_rows);
        const double expected = simulated(costs, ranks, 16384, n_rows);
        EXPECT_NEAR(table.seconds(16384, 0) / expected, 1, 0.03)
            << n_stages << " stages, " << n_parts << " parts, " << n_rows << " rows";
      }
}

TEST(Parts, LongAttentionIsDivided) {
  const StepCosts costs{.step = 1, .row = {1, 1, 1, 1, 1}, .key = 1};
  const double none = std::numeric_limits<double>::infinity();
  const RemainingTable parts(Predictor(costs, kTwoParts), none, 4000, 64),
      alone(Predictor(costs), none, 4000, 64);
  EXPECT_NEAR(parts.seconds(3840, 0) / alone.seconds(3840, 0), 0.5, 0.03);
}

}  // namespace
}  // namespace pando
