// Predicted times over stages and parts against times that were measured.
#include "schedule/rank_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/statistics.h"
#include "schedule/part_loads.h"
#include "schedule/remaining.h"

namespace pando {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();  // budget
constexpr uint32_t kLong = 6144, kShort = 64, kAnswers = 64;       // tokens, tokens, answers

class RankTimes : public ::testing::TestWithParam<RecordedRanks> {
 protected:
  const RecordedRanks& recorded() const { return GetParam(); }
  const RankShape& ranks() const { return recorded().ranks; }
  Predictor predictor() const {
    return Predictor::from_json(recorded().costs, recorded().name, ranks()).value();
  }
  // The median relative error of the predicted seconds.
  template <class Predicted>
  static double median_error(std::span<const double> seconds, const Predicted& predicted) {
    std::vector<double> errors;
    for (size_t i = 0; i < seconds.size(); ++i)
      errors.push_back(std::abs(predicted(static_cast<uint32_t>(i)) / seconds[i] - 1));
    return median(std::move(errors));
  }
};

TEST_P(RankTimes, StepsOfALongPrompt) {
  const Predictor machine = predictor();
  EXPECT_LE(median_error(recorded().prefill,
                         [&](uint32_t i) {
                           return machine.interval(chunk_features(ranks(), 512 * i, 512)).sum();
                         }),
            0.2);
  const RemainingTable table(machine, kNone, kLong, 512);
  EXPECT_NEAR(table.seconds(kLong, 0) / recorded().prefill_s, 1, 0.2);
}

TEST_P(RankTimes, DecodesOfManyAnswers) {
  const Predictor machine = predictor();
  const uint32_t n_each = kAnswers / ranks().depth;  // in a step
  EXPECT_LE(median_error(recorded().decode,
                         [&](uint32_t i) {
                           const uint32_t n_done = kShort + i / ranks().depth;
                           PartLoads loads(ranks());
                           for (uint32_t answer = 0; answer < n_each; ++answer)
                             loads.add_rows(0, n_done, 1);
                           loads.add_reads(0, 0, n_done);
                           const StepFeatures step{.rows = 1.0 * n_each,
                                                   .outputs = 1.0 * n_each,
                                                   .keys = 1.0 * n_each * (n_done + 1),
                                                   .reads = 1.0 * n_done};
                           return machine.interval(loads.of_busiest(step)).sum();
                         }),
            0.2);
}

TEST_P(RankTimes, DecodesBehindALongPrompt) {
  const Predictor machine = predictor();
  EXPECT_LE(median_error(recorded().long_decode,
                         [&](uint32_t i) {
                           StepFeatures step = chunk_features(ranks(), kLong + i, 1);
                           step.outputs = 1;
                           return machine.seconds(step);
                         }),
            0.2);
}

INSTANTIATE_TEST_SUITE_P(Layouts, RankTimes, ::testing::ValuesIn(kRecordedRanks),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pando
