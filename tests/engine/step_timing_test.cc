#include "engine/step_timing.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

EngineOptions ten_milliseconds() {
  EngineOptions options;
  options.policy = "lars";
  options.step_budget = 10e-3;
  options.step_costs =  // a tenth of a millisecond for a row
      R"({"step_s":0,"row_s":[1e-4,1e-4,1e-4,1e-4,1e-4],"head_s":0,"output_s":0,"key_s":0,"read_s":0})";
  options.context = 4096;
  options.deadline_classes[""] = {};
  return options;
}

struct Work {
  WorkView view;
  std::vector<ScheduledRequest> requests;

  void add(uint32_t n_rows, bool decoding) {
    view.items.push_back({.running = true,
                          .decoding = decoding,
                          .segments = {static_cast<uint32_t>(view.segment_rows.size())}});
    view.segment_begin.push_back(0);
    view.segment_rows.push_back(n_rows);
    requests.push_back({.deadline = 1, .work = 0.1, .left = 0.1, .tpot_slo = 1});
  }
};

// For steps with a decode and without one.
TEST(StepTiming, ABudgetShrinksByWhatStepsTakeBeyondTheirPrediction) {
  const Result<std::unique_ptr<StepTiming>> timing = StepTiming::create(ten_milliseconds());
  ASSERT_TRUE(timing && *timing);
  Work alone, beside_decode;
  alone.add(1000, false);
  beside_decode.add(1000, false);
  beside_decode.add(1, true);
  const auto n_rows = [&](const Work& work) {
    double n = 0;
    for (const Advance& advance : (*timing)->choose(work.view, work.requests)) n += advance.n_rows;
    return n;
  };
  EXPECT_EQ(n_rows(beside_decode), n_rows(alone));
  for (int i = 0; i < 500; ++i) {
    (*timing)->choose(alone.view, alone.requests);
    // By turns, so that predictions stay right on average.
    const StepTiming::Chosen chosen = (*timing)->chosen();
    (*timing)->observe(chosen, (i % 2 == 0 ? 1.25 : 0.8) * (*timing)->predicted_seconds(chosen));
  }
  EXPECT_NEAR(n_rows(beside_decode) / n_rows(alone), 0.8, 0.05);
}

TEST(StepTiming, ARequestIsDueByTheWorkOfAllThatIsAskedWithItFromWhenItWasSent) {
  const Result<std::unique_ptr<StepTiming>> timing = StepTiming::create(ten_milliseconds());
  ASSERT_TRUE(timing && *timing);
  const auto scheduled_of = [&](const Request& request) {
    return (*timing)->scheduled_request(request, /*n_total=*/1000, /*n_done=*/0);
  };
  const ScheduledRequest alone = scheduled_of({});
  EXPECT_NEAR(alone.work, 0.1, 0.01);
  EXPECT_NEAR(alone.deadline - alone.arrival, 1, 1e-9);
  const ScheduledRequest of_ten = scheduled_of({.tokens_beside = 9000});
  EXPECT_NEAR(of_ten.work, alone.work, 1e-9);
  EXPECT_NEAR(of_ten.all_work, 1, 0.05);
  EXPECT_NEAR(of_ten.left, alone.left, 1e-9);
  EXPECT_NEAR(of_ten.deadline - of_ten.arrival, 4, 0.2);
  const ScheduledRequest first = scheduled_of({.tokens_beside = 9000, .tokens_behind = 9000});
  EXPECT_NEAR(first.deadline - first.arrival, 4 - 0.9, 0.2)
      << "of what is behind it as much is left";
  const ScheduledRequest of_class =
      scheduled_of({.ttft_slo = 2, .tokens_beside = 9000, .tokens_behind = 9000});
  EXPECT_NEAR(of_class.deadline - of_class.arrival, 2, 1e-9) << "as its client says";
  const auto now = std::chrono::steady_clock::now();
  const ScheduledRequest late =
      scheduled_of({.tokens_beside = 9000, .sent = now - std::chrono::seconds(30)});
  EXPECT_GE(late.arrival, of_ten.arrival) << "it comes now";
  EXPECT_LE(late.deadline - late.arrival, 4.2 - 30);
  const ScheduledRequest from_the_future = scheduled_of({.sent = now + std::chrono::hours(1)});
  EXPECT_NEAR(from_the_future.deadline - from_the_future.arrival, 1, 1e-9);
  using Time = std::chrono::steady_clock::time_point;
  const ScheduledRequest ages_ago = scheduled_of({.sent = Time::min()});
  EXPECT_NEAR(ages_ago.deadline - ages_ago.arrival, 1 - 86'400, 1e-6) << "a day at most";
}

}  // namespace
}  // namespace pando
