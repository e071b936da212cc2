#include "schedule/predictor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "schedule/least_squares.h"
#include "schedule/remaining.h"

namespace pando {
namespace {

TEST(LeastSquares, SolvesWhatIsSolvable) {
  const std::vector<double> a = {1, 1, 1, 2, 1, 3};  // 2 + 3 t
  const std::vector<double> x = non_negative_least_squares(a, std::vector<double>{5, 8, 11}, 2);
  EXPECT_NEAR(x[0], 2, 1e-9);
  EXPECT_NEAR(x[1], 3, 1e-9);
}

TEST(LeastSquares, LeavesOutWhatWouldBeNegative) {
  const std::vector<double> a = {1, 1, 1, 2, 1, 3};  // falls with t: the mean alone
  const std::vector<double> x = non_negative_least_squares(a, std::vector<double>{11, 8, 5}, 2);
  EXPECT_NEAR(x[0], 8, 1e-9);
  EXPECT_EQ(x[1], 0);
}

TEST(LeastSquares, EqualColumnsAndEmptyOnes) {
  const std::vector<double> a = {1, 1, 0, 2, 2, 0};
  const std::vector<double> x = non_negative_least_squares(a, std::vector<double>{3, 6}, 3);
  EXPECT_NEAR(x[0] + x[1], 3, 1e-9);
  EXPECT_EQ(x[2], 0);
}

// No feasible direction makes the error smaller: the conditions of Karush, Kuhn and Tucker.
TEST(LeastSquares, RandomOnesAreOptimal) {
  std::mt19937 rng(3);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 300; ++round) {
    const size_t n = 1 + rng() % 8, m = 1 + rng() % 30;
    std::vector<double> a(m * n), b(m);
    for (double& v : a) v = normal(rng);
    for (double& v : b) v = normal(rng);
    const std::vector<double> x = non_negative_least_squares(a, b, n);
    std::vector<double> error = b;
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) error[i] -= a[i * n + j] * x[j];
    for (size_t j = 0; j < n; ++j) {
      double slope = 0;
      for (size_t i = 0; i < m; ++i) slope += a[i * n + j] * error[i];
      ASSERT_GE(x[j], 0);
      ASSERT_LE(slope, 1e-6) << "more of column " << j;
      if (x[j] > 0) {
        ASSERT_GE(slope, -1e-6) << "less of column " << j;
      }
    }
  }
}

StepCosts some_costs() {
  return {.step = 3e-3,
          .row = {2e-4, 1e-4, 5e-5, 8e-5, 9e-5},
          .head = 2e-3,
          .output = 4e-4,
          .key = 1e-8,
          .read = 2e-7};
}

// A step reads the experts that its rows have, fewer than all experts where the rows are few.
TEST(Predictor, KnowsHowManyExpertsAStepReads) {
  const ExpertCounts experts = {.n_experts = 128, .n_used = 8};
  EXPECT_DOUBLE_EQ(experts.touched(1), 8);
  EXPECT_DOUBLE_EQ(experts.touched(2), 15.5);  // 8, and 15/16 of 8 more
  EXPECT_NEAR(experts.touched(1000), 128, 1e-6);
  EXPECT_EQ(ExpertCounts().touched(5), 0);
  const Predictor machine(
      {.step = 1e-3, .row = {1e-4, 1e-4, 1e-4, 1e-4, 1e-4}, .experts = experts, .expert = 5e-4});
  std::vector<StepSample> samples;
  for (const double rows : {1, 2, 3, 5, 8, 12, 20, 40, 64, 100, 200, 512}) {
    const StepFeatures step{.rows = rows, .outputs = 1, .keys = rows * 9, .reads = 8};
    samples.push_back({step, machine.seconds(step)});
  }
  const Predictor fitted = fit_predictor(samples, experts).value();
  EXPECT_LT(report_fit(fitted, samples).median_error, 0.005);
  EXPECT_NEAR(fitted.costs().expert, 5e-4, 5e-5);
  EXPECT_GT(report_fit(fit_predictor(samples).value(), samples).median_error,
            report_fit(fitted, samples).median_error);
  const Predictor again = Predictor::from_json(fitted.to_json(), "costs").value();
  for (const StepSample& sample : samples)
    EXPECT_DOUBLE_EQ(again.seconds(sample.features), fitted.seconds(sample.features));
  EXPECT_FALSE(
      Predictor::from_json(R"({"step_s":0,"row_s":[1,1,1,1,1],"head_s":0,"output_s":0,"key_s":0,)"
                           R"("read_s":0,"experts":4,"experts_of_row":5,"expert_s":1})",
                           "costs")
          .ok());
}

std::vector<StepSample> measured(const Predictor& machine, double noise) {
  std::mt19937 rng(5);
  std::normal_distribution<double> normal;
  std::vector<StepSample> samples;
  for (const double rows : {1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512})
    for (const double begin : {0, 100, 1000, 8000})
      for (const double outputs : {0.0, 1.0, rows})
        for (int repeat = 0; repeat < 4; ++repeat) {
          const StepFeatures step{rows, outputs, keys_seen(begin, rows), begin};
          samples.push_back({step, machine.seconds(step) * std::exp(noise * normal(rng))});
        }
  return samples;
}

TEST(Predictor, FindsTheCostsOfAMachineThatIsOneOfIts) {
  const Predictor machine(some_costs());
  const std::vector<StepSample> samples = measured(machine, 0);
  const Predictor fitted = fit_predictor(samples).value();
  EXPECT_NEAR(fitted.costs().step, 3e-3, 1e-8);
  EXPECT_NEAR(fitted.costs().row[2], 5e-5, 1e-9);
  EXPECT_NEAR(fitted.costs().head, 2e-3, 1e-8);
  EXPECT_NEAR(fitted.costs().key, 1e-8, 1e-13);
  const FitReport report = report_fit(fitted, samples);
  EXPECT_LT(report.median_error, 1e-6);
  EXPECT_EQ(report.repeat_noise, 0);
  EXPECT_EQ(report.n_samples, 11u * 4 * 3 * 4);
  EXPECT_TRUE(report.good());
}

TEST(Predictor, OfANoisyMachineIsAsGoodAsTheNoiseAllows) {
  const Predictor machine(some_costs());
  const std::vector<StepSample> samples = measured(machine, 0.1);
  const FitReport report = report_fit(fit_predictor(samples).value(), samples);
  EXPECT_GT(report.repeat_noise, 0.05);
  EXPECT_GT(report.median_error, 0.03);
  EXPECT_TRUE(report.good()) << report.median_error << " against " << report.repeat_noise;
  EXPECT_FALSE(report_fit(Predictor(StepCosts{.step = 1}), samples).good());
}

TEST(Predictor, AFewDisturbedStepsDoNotBendTheFit) {
  const Predictor machine(some_costs());
  std::vector<StepSample> samples = measured(machine, 0);
  for (size_t i = 0; i < samples.size(); ++i)
    if (i / 4 % 8 == 3) samples[i].seconds *= 2;  // all repeats of every eighth step
  const Predictor fitted = fit_predictor(samples).value();
  EXPECT_LT(report_fit(fitted, samples).median_error, 0.01);
  EXPECT_NEAR(fitted.costs().key, 1e-8, 3e-10);
}

TEST(Predictor, CorrectsItself) {
  Predictor predictor(some_costs());
  const StepFeatures step{64, 1, 5000, 100};
  const double fitted = predictor.seconds(step);
  predictor.observe(step, 1000 * fitted);
  EXPECT_LT(predictor.seconds(step), 1.04 * fitted) << "one interrupted step does little";
  for (int i = 0; i < 200; ++i) predictor.observe(step, 1.5 * fitted);
  EXPECT_NEAR(predictor.seconds(step), 1.5 * fitted, 0.01 * fitted);
  for (int i = 0; i < 2000; ++i) predictor.observe(step, 1e9);
  EXPECT_NEAR(predictor.correction().once, 10, 1e-9);
  EXPECT_NEAR(predictor.correction().rows, 10, 1e-9);
  for (int i = 0; i < 2000; ++i) predictor.observe(step, 1e-9);
  EXPECT_NEAR(predictor.correction().once, 0.1, 1e-9);
  EXPECT_NEAR(predictor.correction().rows, 0.1, 1e-9);
}

TEST(Predictor, CorrectsWhatAStepTakesAndWhatItsRowsTakeApart) {
  for (const auto& [once, rows] : {std::pair{3.0, 1.0}, {1.0, 3.0}, {3.0, 3.0}, {0.5, 2.0}}) {
    Predictor predictor(some_costs());
    std::mt19937 rng(7);
    for (int i = 0; i < 1000; ++i) {
      const double n = rng() % 2 == 0 ? 1 : 1 + rng() % 300;
      const StepFeatures step{n, 1, keys_seen(100, n), 100};
      const StepTime time = predictor.fitted(step);
      predictor.observe(step, once * time.once + rows * time.rows);
    }
    EXPECT_NEAR(predictor.correction().once, once, 0.02 * once);
    EXPECT_NEAR(predictor.correction().rows, rows, 0.02 * rows);
  }
}

TEST(Predictor, APartThatIsNotInAStepIsNotCorrected) {
  Predictor predictor(StepCosts{.step = 1e-3});
  for (int i = 0; i < 200; ++i) predictor.observe({.rows = 5}, 2e-3);
  EXPECT_NEAR(predictor.correction().once, 2, 0.01);
  EXPECT_EQ(predictor.correction().rows, 1);
}

TEST(Predictor, IsKeptAsText) {
  const Predictor predictor(some_costs());
  const Predictor again = Predictor::from_json(predictor.to_json(), "cost file").value();
  for (const double rows : {1.0, 7.0, 500.0}) {
    const StepFeatures step{rows, 1, 100 * rows, 99};
    EXPECT_EQ(again.seconds(step), predictor.seconds(step));
  }
}

TEST(Predictor, SaysWhatIsWrongWithItsText) {
  const auto message = [](std::string_view text) {
    return Predictor::from_json(text, "costs.json").error().message();
  };
  EXPECT_NE(message("{").find("costs.json"), std::string::npos);
  EXPECT_EQ(message(R"({"step_s": -1})"),
            "costs.json: 'step_s' is -1, expected seconds, 0 or more");
  EXPECT_EQ(message(R"({"step_s":0,"head_s":0,"output_s":0,"key_s":0,"read_s":0,"row_s":[1,2]})"),
            "costs.json: 'row_s' is [1,2], expected a list of 5 times in seconds, 0 or more");
}

TEST(Predictor, IsNotFittedToNothing) {
  EXPECT_FALSE(fit_predictor({}).ok());
  EXPECT_FALSE(fit_predictor(std::vector<StepSample>{{{1, 1, 1, 0}, 0}}).ok());
}

// Samples of a short measurement on a slow or busy machine.
TEST(Predictor, RowsThatNobodyMeasuredAreNotFree) {
  const Predictor machine(some_costs());
  std::vector<StepSample> samples;
  for (const double rows : {1.0, 2.0, 5.0, 8.0, 12.0, 20.0, 24.0})
    for (const double outputs : {0.0, 1.0}) {
      const StepFeatures step{rows, outputs, keys_seen(0, rows), 0};
      samples.push_back({step, machine.seconds(step)});
    }
  const Predictor predictor = fit_predictor(samples).value();
  const double measured = predictor.seconds({.rows = 24}) - predictor.seconds({.rows = 0});
  EXPECT_GE(predictor.seconds({.rows = 1024}), 0.99 * measured * 1024 / 24);
}

TEST(Predictor, AStepTakesTimeWhereTheRestOfItTakesItAll) {
  std::vector<StepSample> samples;
  for (const double rows : {6.0, 8.0, 12.0, 16.0})
    for (const double outputs : {0.0, 1.0})
      samples.push_back({{rows, outputs, 0, 0}, 0.02 * (rows - 4) + 0.14 * outputs});
  const Predictor predictor = fit_predictor(samples).value();
  EXPECT_GT(predictor.seconds({.rows = 1}), 0);
}

TEST(RemainingTable, IsTheSumOfTheChunks) {
  const Predictor machine(some_costs());
  const double budget = 0.02;
  const RemainingTable table(machine, budget, 5000, 512);
  // Algorithm 3, as printed: from the beginning for each length.
  const auto simulated = [&](uint32_t n_tokens) {
    double total = 0;
    for (uint32_t n_done = 0; n_done < n_tokens;) {
      const uint32_t n = std::min(longest_chunk(machine, budget, n_done, 512), n_tokens - n_done);
      total += machine.seconds(
          {static_cast<double>(n), 0, keys_seen(n_done, n), static_cast<double>(n_done)});
      n_done += n;
    }
    return total;
  };
  for (const uint32_t n : {64u, 128u, 1024u, 4096u, 4992u})
    EXPECT_NEAR(table.seconds(n, 0), simulated(n), 1e-9) << n;
  EXPECT_NEAR(table.seconds(4096, 1024), simulated(4096) - simulated(1024), 1e-9);
  EXPECT_NEAR(table.seconds(5000, 0), simulated(5000), 0.05 * simulated(5000)) << "between entries";
  EXPECT_EQ(table.seconds(5000, 5000), machine.seconds({1, 0, 1, 0})) << "a step of one row";
}

TEST(RemainingTable, ChunksShrinkAsTheContextGrows) {
  const Predictor machine(some_costs());
  uint32_t before = 512;
  for (uint32_t n_done = 0; n_done < 40000; n_done += 4000) {
    const uint32_t n = longest_chunk(machine, 0.02, n_done, 512);
    EXPECT_LE(n, before);
    before = n;
  }
  EXPECT_LT(before, longest_chunk(machine, 0.02, 0, 512) / 3);
}

TEST(RemainingTable, EndsWhereNoChunkFits) {
  const RemainingTable table(Predictor(some_costs()), 1e-9, 300, 512);  // row by row
  EXPECT_GT(table.seconds(300, 0), 300 * 3e-3);
}

}  // namespace
}  // namespace pando
