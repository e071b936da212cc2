// Predicted times between steps over ranks, against times recorded by
// tests/engine/rank_times_test.cc (a model of the shape of Qwen3 0.6B with few layers; ranks of one
// thread on a 2-core AMD EPYC).
#include <gtest/gtest.h>

#include <cmath>

#include "schedule/part_loads.h"
#include "schedule/predictor.h"

namespace pando {
namespace {

constexpr uint32_t kShort = 64;

// Medians in milliseconds: a chunk of 512 rows behind 3,072; the tenth step of 64 answers to one
// prompt of 64 tokens; a row behind 6,144.
struct Recording {
  const char* name;
  RankShape ranks;
  const char* costs;  // fitted to other steps of the same run
  double chunk, answers, row;
};

const Recording kRecordings[] = {
    {"one",
     {.block_len = 8192, .part_rows = 16},
     R"({"head_s":0.00041196,"key_s":7.83375e-08,"output_s":8.84746e-05,"read_s":2.42460e-07,
         "row_s":[0.0,0.00010778,0.00018886,0.00016656,0.00018008],"step_s":0.00138098})",
     215.74,
     18.75,
     3.78},
    {"spp=2",
     {.n_stages = 2, .depth = 2, .slice_rows = 128, .block_len = 8192, .part_rows = 16},
     R"({"head_s":0.00055931,"key_s":8.69511e-08,"output_s":8.56889e-05,"read_s":3.00314e-07,
         "row_s":[0.0,0.00013038,0.00019982,0.00022132,0.00022132],"step_s":0.00129030})",
     142.55,
     4.89,
     4.01},
    {"kvp=2",
     {.n_parts = 2, .block_len = 2048, .part_rows = 16},
     R"({"head_s":0.00073346,"key_s":7.24896e-08,"move_s":4.05421e-05,"output_s":5.06758e-05,
         "read_s":3.58815e-07,"row_s":[0.00023926,0.0,5.34181e-05,9.57888e-05,0.00011956],
         "step_s":0.00092599})",
     142.36,
     12.23,
     3.65}};

// Step number 10 of 64 answers; each step in flight has its share of them.
StepFeatures answers(const RankShape& ranks) {
  const uint32_t n = 64 / ranks.depth, n_own = 10;
  PartLoads loads(ranks);
  for (uint32_t i = 0; i < n; ++i) {
    loads.add_rows(0, kShort + n_own, 1);
    loads.add_reads(0, kShort, n_own);
  }
  loads.add_reads(0, 0, kShort);
  const double rows = n;
  return loads.of_busiest({.rows = rows,
                           .outputs = rows,
                           .keys = rows * (kShort + n_own + 1),
                           .reads = kShort + rows * n_own});
}

TEST(RecordedTimes, ArePredictedWithinAFifth) {
  for (const Recording& recording : kRecordings) {
    SCOPED_TRACE(recording.name);
    const RankShape& ranks = recording.ranks;
    const Predictor machine = Predictor::from_json(recording.costs, "the recording", ranks).value();
    EXPECT_NEAR(1e3 * machine.interval(chunk_features(ranks, 3072, 512)).sum() / recording.chunk, 1,
                0.2);
    EXPECT_NEAR(1e3 * machine.interval(answers(ranks)).sum() / recording.answers, 1, 0.2);
    StepFeatures row = chunk_features(ranks, 6144, 1);
    row.outputs = 1;
    EXPECT_NEAR(1e3 * machine.seconds(row) / recording.row, 1, 0.2);
  }
}

}  // namespace
}  // namespace pando
