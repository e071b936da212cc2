// A machine that other work slows down: its steps, its rows, or both.
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/simulate/simulated_executor.h"

namespace pando::lab {
namespace {

constexpr double kMs = 1e-3;
constexpr double kBudget = 100 * kMs;

// A step of 512 rows takes 85 ms, one of two decodes 8.
Predictor machine(double steps, double rows) {
  const double row = rows * 0.15 * kMs;
  return Predictor(StepCosts{.step = steps * 8 * kMs, .row = {row, row, row, row, row}});
}

// Two prompts of 2,000 tokens at a time, then for long only their answers.
std::vector<SimulatedRequest> bursts() {
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < 40; ++i)
    requests.push_back({.arrival = i / 2 * 15.0, .n_prompt = 2000, .n_answer = 200});
  return requests;
}

struct Read {
  double rows = 0, seconds = 0;  // of steps with prompts
  double longest = 0;            // step, once half of the requests have come

  double rate() const { return rows / seconds; }
};

Read read(const Policy& policy, const PackerOptions& packer, const Predictor& machine_now) {
  Read read;
  SimulationOptions options{.policy = &policy, .packer = packer};
  options.on_step = [&](const SimulatedStep& step) {
    const auto is_prompt = [](const Advance& advance) { return advance.n_rows > 1; };
    if (step.begin > 150) read.longest = std::max(read.longest, step.seconds);
    if (std::ranges::none_of(step.advances, is_prompt)) return;
    for (const Advance& advance : step.advances) read.rows += advance.n_rows;
    read.seconds += step.seconds;
  };
  simulate(bursts(), machine(1, 1), machine_now, options);
  return read;
}

TEST(SlowedMachine, LarsReadsAboutAsManyRowsAsFcfsAndKeepsItsBudget) {
  for (const auto& [steps, rows] : {std::pair{1, 1}, {3, 1}, {1, 3}, {3, 3}}) {
    const Predictor slowed = machine(steps, rows);
    const Read fcfs = read(kFcfs, {.step_budget = PackerOptions::kNoBudget, .n_rows = 512}, slowed);
    const Read lars = read(kLars, {.step_budget = kBudget, .n_rows = 512}, slowed);
    EXPECT_GE(lars.rate(), 0.8 * fcfs.rate()) << steps << " times a step, " << rows << " a row";
    EXPECT_LE(lars.longest, 1.1 * kBudget) << steps << " times a step, " << rows << " a row";
  }
}

}  // namespace
}  // namespace pando::lab
