#include "lab/simulate/simulated_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace pando::lab {
namespace {

constexpr double kMs = 1e-3;
// A step costs 2 ms, a row 1, an output 0.5, a thousand positions read 0.1.
const Predictor kMachine(StepCosts{
    .step = 2 * kMs, .row = {kMs, kMs, kMs, kMs, kMs}, .output = 0.5 * kMs, .read = 1e-7});

TEST(SimulatedExecutor, OneRequestAlone) {
  const std::vector<SimulatedRequest> requests = {{.arrival = 3, .n_prompt = 100, .n_answer = 3}};
  const auto answers = simulate(requests, kMachine, kMachine, {.packer = {.step_budget = 1}});
  EXPECT_DOUBLE_EQ(answers[0].first_token, 3 + 102.5 * kMs);
  const double decodes[] = {3.5 * kMs + 100e-7, 3.5 * kMs + 101e-7};
  EXPECT_DOUBLE_EQ(answers[0].finished, 3 + 102.5 * kMs + decodes[0] + decodes[1]);
  EXPECT_NEAR(answers[0].worst_gap, decodes[1], 1e-12);
  ASSERT_EQ(answers[0].tokens.size(), 3u);
  EXPECT_EQ(answers[0].tokens[0], answers[0].first_token);
  EXPECT_EQ(answers[0].tokens[2], answers[0].finished);
}

TEST(SimulatedExecutor, APrefixIsComputedOnce) {
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < 8; ++i)
    requests.push_back({.arrival = 0.1 * i, .n_prompt = 510, .prefix_id = 1, .prefix_len = 500});
  double n_rows = 0;
  SimulationOptions options{.packer = {.step_budget = 50 * kMs}};
  options.on_step = [&](const SimulatedStep& step) {
    for (const Advance& advance : step.advances) n_rows += advance.n_again + advance.n_rows;
  };
  const auto answers = simulate(requests, kMachine, kMachine, options);
  EXPECT_EQ(n_rows, 500 + 8 * 10);
  EXPECT_LT(answers[7].first_token, 0.8) << "who comes later finds it cached";
  EXPECT_LT(answers[7].scheduled.work, answers[0].scheduled.work / 10);
  // Exact duplicates go along, or compute their last row once more.
  for (SimulatedRequest& request : requests) request.prefix_len = request.n_prompt;
  n_rows = 0;
  simulate(requests, kMachine, kMachine, options);
  EXPECT_LE(n_rows, 510 + 7);
}

TEST(SimulatedExecutor, StepsKeepToTheTpotWhileALongPrefillRuns) {
  std::vector<SimulatedRequest> requests = {{.n_prompt = 5000, .n_answer = 1}};
  for (int i = 0; i < 4; ++i)
    requests.push_back({.n_prompt = 5, .n_answer = 100, .deadlines = {.tpot_slo = 30 * kMs}});
  for (const Policy* policy : {&kFcfs, &kEdf, &kLrs, &kLars}) {
    const auto answers =
        simulate(requests, kMachine, kMachine, {.policy = policy, .packer = {.step_budget = 1}});
    for (int i = 1; i <= 4; ++i) EXPECT_LE(answers[i].worst_gap, 30 * kMs) << policy->name;
  }
}

TEST(SimulatedExecutor, AWrongPredictorCorrectsItself) {
  StepCosts costs = kMachine.costs();
  costs.step *= 0.5;
  costs.output *= 0.5;
  costs.read *= 0.5;
  for (double& cost : costs.row) cost *= 0.5;
  std::vector<SimulatedRequest> requests = {{.n_prompt = 20000}};
  double longest_late = 0;
  SimulationOptions options{.packer = {.step_budget = 100 * kMs}};
  options.on_step = [&](const SimulatedStep& step) {
    if (step.begin > 10) longest_late = std::max(longest_late, step.seconds);
  };
  simulate(requests, Predictor(costs), kMachine, options);
  EXPECT_LE(longest_late, 105 * kMs);
  EXPECT_GE(longest_late, 95 * kMs);
}

TEST(SimulatedExecutor, RandomWorkloadsEndUnderEveryPolicyAndPacking) {
  std::mt19937 rng(9);
  for (int round = 0; round < 12; ++round) {
    std::vector<SimulatedRequest> requests;
    for (int i = 0; i < 40; ++i) {
      const uint32_t n_prompt = 1 + rng() % (rng() % 10 == 0 ? 3000 : 60);
      const uint32_t prefix_id = rng() % 3;
      requests.push_back({.arrival = (rng() % 3000) * kMs,
                          .n_prompt = std::max(n_prompt, 20u),
                          .n_answer = static_cast<uint32_t>(1 + rng() % 20),
                          .prefix_id = prefix_id,
                          .prefix_len = prefix_id * 10});
    }
    for (const Policy* policy : {&kFcfs, &kEdf, &kLrs, &kLars})
      for (int packing = 0; packing < 4; ++packing) {
        SimulationOptions options{.policy = policy,
                                  .packer = {.step_budget = 40 * kMs,
                                             .n_rows = 64,
                                             .packing = {.whole_prompts = packing == 2},
                                             .many_prefills = packing != 1},
                                  .max_running = static_cast<uint32_t>(1 + rng() % 16)};
        if (packing == 3) options.packer.step_budget = PackerOptions::kNoBudget;
        const auto answers = simulate(requests, kMachine, kMachine, options);
        const auto again = simulate(requests, kMachine, kMachine, options);
        for (size_t i = 0; i < requests.size(); ++i) {
          ASSERT_GT(answers[i].first_token, requests[i].arrival);
          ASSERT_GE(answers[i].finished, answers[i].first_token);
          ASSERT_EQ(answers[i].finished, again[i].finished);
        }
      }
  }
}

}  // namespace
}  // namespace pando::lab
