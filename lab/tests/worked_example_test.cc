// The worked example of Medha, section 4.1, under the four policies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "lab/simulate/simulated_executor.h"

namespace pando::lab {
namespace {

// 10 seconds of work due at 16; twice half a second, due a second after they come at 5.
constexpr double kRow = 1.0 / 64;  // seconds, so that all sums are exact
std::vector<SimulatedRequest> example() {
  const SimulatedRequest short_one{.arrival = 5, .n_prompt = 32, .deadlines = {.ttft_slo = 1}};
  return {{.arrival = 0, .n_prompt = 640, .deadlines = {.ttft_slo = 16}}, short_one, short_one};
}

struct Ran {
  std::string timeline;
  std::vector<SimulatedAnswer> answers;
};

Ran run(const Policy& policy, const PackerOptions& packer) {
  Ran ran;
  std::string last;
  double end = 0;
  SimulationOptions options{.policy = &policy, .packer = packer};
  options.on_step = [&](const SimulatedStep& step) {
    std::string who;
    for (const Advance& advance : step.advances) who += "LST"[advance.item];
    if (who != last) ran.timeline += fmt::format("{}{} ", who, step.begin);
    last = who;
    end = step.begin + step.seconds;
  };
  const Predictor machine(StepCosts{.row = {kRow, kRow, kRow, kRow, kRow}});
  ran.answers = simulate(example(), machine, machine, options);
  ran.timeline += fmt::format("end {}", end);
  return ran;
}

// One prefill a step, as section 4.1 has it: steps of 1/16 second.
const PackerOptions kSerial{.step_budget = 4 * kRow, .many_prefills = false};

void expect(const Ran& ran, double long_one, double first, double second) {
  EXPECT_EQ(ran.answers[0].first_token, long_one);
  EXPECT_EQ(ran.answers[1].first_token, first);
  EXPECT_EQ(ran.answers[2].first_token, second);
  EXPECT_EQ(ran.answers[0].scheduled.deadline, 16);
  EXPECT_EQ(ran.answers[1].scheduled.deadline, 6);
  EXPECT_TRUE(ran.answers[0].in_time());
}

TEST(WorkedExample, FcfsLetsTheShortOnesWait) {
  const Ran ran = run(kFcfs, kSerial);
  EXPECT_EQ(ran.timeline, "L0 S10 T10.5 end 11");
  expect(ran, 10, 10.5, 11);
  EXPECT_FALSE(ran.answers[1].in_time());
  EXPECT_FALSE(ran.answers[2].in_time());
}

TEST(WorkedExample, EdfMeetsAll) {
  const Ran ran = run(kEdf, kSerial);
  EXPECT_EQ(ran.timeline, "L0 S5 T5.5 L6 end 11");
  expect(ran, 11, 5.5, 6);
  EXPECT_TRUE(ran.answers[1].in_time());
  EXPECT_TRUE(ran.answers[2].in_time()) << "just so";
}

// The one that waits loses slack, so that equal ones take turns.
std::string turns(double begin, int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += fmt::format("{}{} ", "ST"[i % 2], begin + i / 16.0);
  return text;
}

TEST(WorkedExample, LrsMeetsAll) {
  const Ran ran = run(kLrs, kSerial);
  EXPECT_EQ(ran.timeline, "L0 " + turns(5, 16) + "L6 end 11");
  expect(ran, 11, 5.9375, 6);
  EXPECT_TRUE(ran.answers[1].in_time());
  EXPECT_TRUE(ran.answers[2].in_time()) << "just so";
}

TEST(WorkedExample, LarsIsALittleLateForTheShortOnes) {
  // Their relative slack falls from 1.0 by 2 a second and passes the long one's 0.6 at 5.2: the
  // next step begins at 5.25, and a second of work is left to do for what is due at 6.
  const Ran ran = run(kLars, kSerial);
  EXPECT_EQ(ran.timeline, "L0 " + turns(5.25, 16) + "L6.25 end 11");
  expect(ran, 11, 6.1875, 6.25);
  EXPECT_FALSE(ran.answers[1].in_time());
  EXPECT_FALSE(ran.answers[2].in_time());
}

TEST(WorkedExample, LarsWithPackingBeginsThemAtOnce) {
  // The long one yields 0.4 of 4 rows: it keeps 2, and the short ones take turns with the others.
  PackerOptions packer{.step_budget = 4 * kRow, .packing = {.rho_max = 0.4, .long_factor = 16}};
  const Ran ran = run(kLars, packer);
  EXPECT_EQ(ran.timeline,
            "L0 LS5 LT5.0625 LS5.125 LT5.1875 LS5.25 T5.3125 S5.375 T5.4375 S5.5 T5.5625 S5.625 "
            "T5.6875 S5.75 T5.8125 "
            "S5.875 T5.9375 S6 T6.0625 SL6.125 L6.1875 end 11");
  expect(ran, 11, 6.1875, 6.125);
  EXPECT_FALSE(ran.answers[1].in_time());
  EXPECT_FALSE(ran.answers[2].in_time()) << "less late: they had work done before 5.25";
}

}  // namespace
}  // namespace pando::lab
