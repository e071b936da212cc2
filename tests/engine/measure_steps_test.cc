#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/test_loop.h"
#include "pando/step_costs.h"
#include "schedule/predictor.h"

namespace pando::testing {
namespace {

constexpr double kAllShapes = 600;  // seconds for what takes less than a few

TEST(MeasureSteps, GivesCostsThatAnEngineTakes) {
  const Result<MeasuredSteps> measured = measure_steps(*tiny_model(), tiny_options(), kAllShapes);
  ASSERT_TRUE(measured.ok());
  EXPECT_GT(measured->n_steps, 30u);
  EXPECT_GT(measured->n_repeats, 10u);
  const Predictor predictor = Predictor::from_json(measured->costs, "measured").value();
  EXPECT_GT(predictor.seconds({.rows = 1}), 0);
  EXPECT_GT(predictor.seconds({.rows = 512}), predictor.seconds({.rows = 8}));
  LoopOptions options = tiny_loop_options();
  options.engine.policy = "lars";
  options.engine.step_budget = 1e-3;
  options.engine.step_costs = measured->costs;
  TestLoop loop(options);
  const Request request = tiny_request("a prompt for an engine that goes by time");
  ASSERT_TRUE(loop.submit(1, request).ok());
  loop.run();
  EXPECT_EQ(loop.answers(1), answers_alone(request));
  EXPECT_GT(loop.stats().predicted_s, 0);
  EXPECT_GT(loop.stats().timed_s, 0);
  EXPECT_LE(loop.stats().timed_s, loop.stats().step_s);
  EXPECT_GE(loop.stats().budget_s, options.engine.step_budget);
  // Packed by time, though time does not limit a step.
  options.engine.policy = "fcfs";
  options.engine.step_budget = 0;
  options.engine.packing.whole_prompts = true;
  TestLoop whole(options);
  ASSERT_TRUE(whole.submit(1, request).ok());
  whole.run();
  EXPECT_GT(whole.stats().timed_s, 0);
  EXPECT_EQ(whole.stats().budget_s, 0);
}

TEST(MeasureSteps, StopsInTime) {
  const Result<MeasuredSteps> measured = measure_steps(*tiny_model(), tiny_options(), 0);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->n_steps, 1u);
}

// Others take more time than a measurement may. Asks again, with more time, where the first step
// took too long by itself.
TEST(MeasureSteps, LetsOthersComputeBetweenSteps) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLongCalls = MeasuredSteps::kMostTimes + 1;
  for (Clock::duration budget = std::chrono::milliseconds(100);; budget *= 2) {
    int n_calls = 0;
    Clock::duration of_others{};
    const auto others = [&] {
      if (++n_calls > kLongCalls) return;
      const Clock::time_point before = Clock::now();
      std::this_thread::sleep_for(budget);
      of_others += Clock::now() - before;
    };
    const Clock::time_point begin = Clock::now();
    const double seconds = std::chrono::duration<double>(budget).count();
    const Result<MeasuredSteps> measured =
        measure_steps(*tiny_model(), tiny_options(), seconds, others);
    const Clock::duration own = Clock::now() - begin - of_others;
    ASSERT_TRUE(measured.ok());
    EXPECT_GT(static_cast<size_t>(n_calls), measured->n_steps);
    if (measured->n_steps == 1 && own > budget) continue;
    EXPECT_GT(measured->n_steps, 1u) << "the time of others does not count";
    return;
  }
}

TEST(MeasureSteps, TakesLittleMemory) {
  for (const size_t n_pages : {1, 3, 40}) {
    EngineOptions options = tiny_options();
    options.kv_memory = 32 * memory_for(1) / static_cast<size_t>(tiny_loop_options().page_len);
    options.kv_memory *= n_pages;
    options.max_queue = 1;
    const Result<MeasuredSteps> measured = measure_steps(*tiny_model(), options, kAllShapes);
    ASSERT_TRUE(measured.ok()) << measured.error().message();
    EXPECT_GT(measured->n_repeats, 0u);
  }
}

TEST(MeasureSteps, SaysHowGoodTheyAre) {
  const MeasuredSteps steps{
      .median_error = 0.061, .repeat_noise = 0.05, .n_steps = 120, .n_repeats = 9};
  EXPECT_TRUE(steps.good());
  EXPECT_FALSE((MeasuredSteps{.median_error = 0.061, .repeat_noise = 0.04}.good()));
  EXPECT_TRUE((MeasuredSteps{.median_error = 0.05, .repeat_noise = 0}.good()));
  EXPECT_EQ(
      steps.in_words(),
      "measured 120 steps, predicted with a median error of 6.1%; equal steps differ by 5.0%");
  EXPECT_EQ((MeasuredSteps{.median_error = 0.061, .n_steps = 1}.in_words()),
            "measured 1 step, predicted with a median error of 6.1%; none was measured twice");
}

TEST(SavedSteps, AreMeasuredOnce) {
  const TemporaryFolder folder;
  const std::filesystem::path costs = folder.path() / "costs";
  const auto saved = [&](const EngineOptions& options) {
    return saved_steps(costs, *tiny_model(), options, 0.05).value();
  };
  const auto n_files = [&] {
    return std::distance(std::filesystem::directory_iterator(costs),
                         std::filesystem::directory_iterator());
  };
  // As if it had taken 12345 steps, so that it is known again.
  const auto mark = [&](double noise, size_t n_repeats = 10) {
    for (const auto& entry : std::filesystem::directory_iterator(costs)) {
      nlohmann::json file = nlohmann::json::parse(std::ifstream(entry.path()));
      file["steps"] = 12345;
      file["repeat_noise"] = noise;
      file["repeats"] = n_repeats;
      std::ofstream(entry.path()) << file;
    }
  };
  EngineOptions options = tiny_options();
  const MeasuredSteps first = saved(options);
  EXPECT_EQ(first.file.parent_path(), costs);
  mark(0.25);
  options.policy = "lars";  // not what costs depend on
  const MeasuredSteps second = saved(options);
  EXPECT_EQ(first.costs, second.costs);
  EXPECT_EQ(first.file, second.file);
  EXPECT_EQ(second.n_steps, 12345u);
  EXPECT_EQ(first.median_error, second.median_error);
  EXPECT_EQ(n_files(), 1);
  mark(0.26);
  EXPECT_NE(saved(options).n_steps, 12345u) << "disturbed";
  mark(0, 9);
  EXPECT_NE(saved(options).n_steps, 12345u) << "hardly measured at all";
  options.threads = 2;
  saved(options);
  EXPECT_EQ(n_files(), 2);
  // Broken costs are measured again, and so are costs that no engine would take.
  for (const auto& entry : std::filesystem::directory_iterator(costs)) {
    nlohmann::json file = nlohmann::json::parse(std::ifstream(entry.path()));
    file["step_costs"]["step_s"] = file["step_costs"]["row_s"][0] = 0;
    std::ofstream(entry.path()) << file;
  }
  const Predictor again = Predictor::from_json(saved(options).costs, "saved").value();
  EXPECT_GT(again.seconds({.rows = 1}), 0);
  for (const auto& entry : std::filesystem::directory_iterator(costs))
    std::ofstream(entry.path()) << "{\"of\": 3}";
  EXPECT_GT(saved(options).n_steps, 0u);
  EXPECT_EQ(n_files(), 2);
}

TEST(SavedSteps, AreOfUseWhereTheyCannotBeKept) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "file";
  std::ofstream(file) << "no folder";
  const auto saved = saved_steps(file, *tiny_model(), tiny_options(), 0);
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->file, "");
  EXPECT_EQ(saved->not_kept, "cannot create '" + file.string() + "': Not a directory");
  EXPECT_FALSE(saved->costs.empty());
}

}  // namespace
}  // namespace pando::testing
