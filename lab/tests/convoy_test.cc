// Short requests that keep coming while long ones run.
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/simulate/simulated_executor.h"

namespace pando::lab {
namespace {

constexpr double kRow = 1.0 / 64;  // seconds
const Predictor kMachine(StepCosts{.row = {kRow, kRow, kRow, kRow, kRow}});
constexpr PackerOptions kSerial{.step_budget = 4 * kRow, .many_prefills = false};

constexpr uint32_t kLong = 640;  // 10 seconds
constexpr uint32_t kShort = 8;   // an eighth

struct Waits {
  double of_short = 0, of_long = 0;  // the worst, until the first token
  int n_late_long = 0;
};

// Long ones, due after 16 seconds, every 40; short ones, due after 1, for `seconds`.
Waits waits(const Policy& policy, double shorts_per_second, int n_long,
            const PackerOptions& packer = kSerial, double seconds = 320) {
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < n_long; ++i)
    requests.push_back({.arrival = 40.0 * i, .n_prompt = kLong, .deadlines = {.ttft_slo = 16}});
  for (int i = 0; i < seconds * shorts_per_second; ++i)
    requests.push_back(
        {.arrival = i / shorts_per_second, .n_prompt = kShort, .deadlines = {.ttft_slo = 1}});
  const std::vector<SimulatedAnswer> answers =
      simulate(requests, kMachine, kMachine, {.policy = &policy, .packer = packer});
  Waits waits;
  for (size_t i = 0; i < requests.size(); ++i) {
    const bool is_long = requests[i].n_prompt == kLong;
    double& worst = is_long ? waits.of_long : waits.of_short;
    worst = std::max(worst, answers[i].first_token - requests[i].arrival);
    waits.n_late_long += is_long && !answers[i].in_time();
  }
  return waits;
}

// Short ones alone load half of the machine, all together three quarters.
TEST(Convoy, FcfsBlocks) {
  const Waits w = waits(kFcfs, 4, 8);
  EXPECT_GE(w.of_short, 10);
  EXPECT_EQ(w.n_late_long, 0);
}

TEST(Convoy, EdfAndLrsStarveTheLongOneAndThenFormAConvoy) {
  for (const Policy* policy : {&kEdf, &kLrs}) {
    const Waits w = waits(*policy, 4, 8);
    EXPECT_EQ(w.n_late_long, 8) << policy->name;
    EXPECT_GT(w.of_short, 2.5) << policy->name;
  }
}

TEST(Convoy, LarsDoesNeither) {
  const Waits w = waits(kLars, 4, 8);
  EXPECT_LE(w.of_short, 17.0 / 16) << "a step late at most";
  EXPECT_LE(w.of_long, 1.2 * 16) << "20 seconds is what the short ones leave, less what waits";
}

TEST(Convoy, PackingLetsTheShortOnesBeginAtOnce) {
  PackerOptions packer{.step_budget = 4 * kRow, .packing = {.long_factor = 4}};
  EXPECT_LE(waits(kLars, 2, 8, packer).of_short, 0.375);
  EXPECT_GE(waits(kLars, 2, 8).of_short, 0.875) << "without it they wait for their slack to fall";
  EXPECT_EQ(waits(kLars, 2, 8, packer).n_late_long, 0);
}

// More short ones than the machine can do.
TEST(Aging, BoundsTheWaitUnderLars) {
  PackerOptions packer{.step_budget = 64 * kRow, .many_prefills = false};
  packer.packing.aging = 1e9;
  EXPECT_GE(waits(kLars, 9, 1, packer, 200).of_long, 200) << "until no more short ones come";
  packer.packing.aging = 4;
  const double share = 6.0 / 64;  // of least_share 0.1, whole rows
  for (const bool many : {false, true}) {
    packer.many_prefills = many;
    const double wait = waits(kLars, 9, 1, packer, 200).of_long;
    EXPECT_GE(wait, 4 * 16.0);
    EXPECT_LE(wait, 4 * 16.0 + 10 / share + 2 * packer.step_budget);
  }
}

TEST(Aging, TheShareGoesToOneAfterTheOther) {
  const PackerOptions packer{.step_budget = 64 * kRow};
  const double wait = waits(kLars, 9, 3, packer, 500).of_long;
  EXPECT_GE(wait, 4 * 16.0 + 10);
  EXPECT_LE(wait, 4 * 16.0 + 3 * 10 / (6.0 / 64)) << "with two that came before";
}

TEST(Aging, IsNoPartOfEdf) {
  const PackerOptions packer{.step_budget = 64 * kRow, .many_prefills = false};
  PackerOptions never = packer;
  never.packing.aging = 1e9;
  EXPECT_EQ(waits(kEdf, 9, 1, packer, 80).of_long, waits(kEdf, 9, 1, never, 80).of_long);
}

// Medha, section 6.5: what one part of the machine lacks stands idle in the other.
TEST(Pools, AReservedPoolDelaysTheLongOnes) {
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < 8; ++i)
    requests.push_back({.arrival = 40.0 * i, .n_prompt = kLong, .deadlines = {.ttft_slo = 16}});
  for (int i = 0; i < 320; ++i)
    requests.push_back({.arrival = 1.0 * i, .n_prompt = kShort, .deadlines = {.ttft_slo = 1}});
  const SimulationOptions options{.policy = &kFcfs, .packer = kSerial};
  const auto pools = simulate_pools(requests, kMachine, kMachine, options, 0.25, kLong);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_NEAR(pools[i].first_token - requests[i].arrival, i < 8 ? 10 / 0.75 : 0.125 / 0.25, 1e-6)
        << i;
}

}  // namespace
}  // namespace pando::lab
