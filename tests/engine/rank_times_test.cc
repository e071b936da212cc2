// Predicted times of steps over ranks against measured ones. Disabled, since each rank needs a
// processor core that does nothing else, and it takes minutes:
//   engine_tests --gtest_also_run_disabled_tests --gtest_filter='*RankTimes*'
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "api/open_loop.h"
#include "base/statistics.h"
#include "engine/measure_steps.h"
#include "engine/rank_threads.h"
#include "schedule/part_loads.h"
#include "schedule/remaining.h"

namespace pando::testing {
namespace {

constexpr uint32_t kStepRows = 512, kLong = 6144, kShort = 64, kAnswers = 64;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class RankTimes : public ::testing::TestWithParam<RankLayout> {
 protected:
  RankTimes() : models_(CaseWeights::kBF16), threads_(models_, kModel, GetParam()) {
    options_.threads = 1;
    options_.context = kCaseContext;
    options_.kv_memory = size_t{512} << 20;
    options_.step_rows = kStepRows;
  }

  Result<std::unique_ptr<EngineLoop>> open(LoopOptions options) {
    options.ranks = &threads_.first();
    return open_loop(models_.share(kModel, GetParam().share_of(0)), options, nullptr, nullptr);
  }
  void submit(EngineLoop& loop, RequestId id, uint32_t n_prompt, int n, int max_tokens) {
    Request request;
    for (uint32_t i = 0; i < n_prompt; ++i)
      request.tokens.push_back(static_cast<Token>((id + i * 7) % kCaseVocab));
    request.sampling = {.max_tokens = max_tokens, .temperature = 1, .n = n, .ignore_eos = true};
    ASSERT_TRUE(loop.submit(id, std::move(request), [](const Event&) {}).ok());
  }

  // Runs all steps. Prints the median relative error of the predicted seconds between the ends of
  // steps, which must be small. Returns the seconds of all steps.
  template <class Predicted>
  double run(const char* name, EngineLoop& loop, const Predicted& predicted) {
    const double start = now();
    std::vector<double> errors, times, guesses;
    uint32_t i = 0;
    for (double last = start; loop.step(); ++i) {
      const double end = now();
      times.push_back(end - last);
      guesses.push_back(predicted(i));
      errors.push_back(std::abs(guesses.back() / times.back() - 1));
      last = end;
    }
    const double seconds = now() - start, error = median(std::move(errors));
    printf("%s: %u steps in %.2f s; medians: a step %.2f ms, predicted %.2f ms, error %.1f%%\n",
           name, i, seconds, 1e3 * median(times), 1e3 * median(guesses), 100 * error);
    EXPECT_LE(error, 0.2) << name;
    loop.deliver_events();
    return seconds;
  }

  inline static const CaseModel kModel{.shape = "qwen3-0.6b"};
  EngineOptions options_;
  CaseModels models_;
  RankThreads threads_;
};

TEST_P(RankTimes, DISABLED_ArePredicted) {
  const Result<MeasuredSteps> measured = measure_steps(
      [&](const LoopOptions& options) { return open(options); }, options_, /*seconds=*/30);
  ASSERT_TRUE(measured.ok());
  printf("%s\n%s\n", measured->in_words().c_str(), measured->costs.c_str());
  const std::unique_ptr<EngineLoop> loop = std::move(open({.engine = options_}).value());
  const RankShape ranks = loop->ranks();
  const Predictor machine = Predictor::from_json(measured->costs, "measured", ranks).value();

  submit(*loop, 1, kLong, 1, 1);
  const double prefill = run("a long prompt", *loop, [&](uint32_t i) {
    return machine.interval(chunk_features(ranks, kStepRows * i, kStepRows)).sum();
  });
  const RemainingTable table(machine, std::numeric_limits<double>::infinity(), kLong, kStepRows);
  EXPECT_NEAR(table.seconds(kLong, 0) / prefill, 1, 0.2);

  submit(*loop, 2, kShort, kAnswers, 24);
  run("many answers", *loop, [&](uint32_t i) {
    const uint32_t n_done = kShort + i / ranks.depth, n_each = kAnswers / ranks.depth;
    PartLoads loads(ranks);
    for (uint32_t answer = 0; answer < n_each; ++answer) {
      loads.add_rows(0, n_done, 1);
      loads.add_reads(0, kShort, n_done - kShort);
    }
    loads.add_reads(0, 0, kShort);
    const double n = n_each;
    return machine
        .interval(loads.of_busiest({.rows = n,
                                    .outputs = n,
                                    .keys = n * (n_done + 1),
                                    .reads = kShort + n * (n_done - kShort)}))
        .sum();
  });

  submit(*loop, 1, kLong, 1, 24);  // cached
  run("an answer behind a long prompt", *loop, [&](uint32_t i) {
    StepFeatures step = chunk_features(ranks, kLong + i, 1);
    step.outputs = 1;
    return machine.seconds(step);
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, RankTimes,
                         ::testing::Values(RankLayout{}, RankLayout{.spp = 2},
                                           RankLayout{.kvp = 2, .kvp_tokens = 2048},
                                           RankLayout{.spp = 2, .kvp = 2, .kvp_tokens = 2048}),
                         [](const auto& info) {
                           return "Spp" + std::to_string(info.param.spp) + "Kvp" +
                                  std::to_string(info.param.kvp);
                         });

}  // namespace
}  // namespace pando::testing
