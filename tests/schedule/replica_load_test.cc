// Predictions of one replica, by hand.
#include "schedule/replica_load.h"

#include <gtest/gtest.h>

#include <limits>

namespace pando {
namespace {

constexpr ReplicaReport kLoadCosts{
    .max_running = 4, .seconds_per_prompt_token = 0.01, .seconds_per_step = 0.1};
constexpr RoutedWork kLoadPrompt{.n_prompt = 640, .n_answer = 10};  // 6.4 s, ten pieces

constexpr double kNotOvertaken = std::numeric_limits<double>::infinity();
constexpr double kLastToken = 0.01;  // seconds of the last token, which is computed in any case

ReplicaLoad load_with(const ReplicaReport& report) {
  ReplicaLoad load;
  load.report(report, 0);
  return load;
}

TEST(ReplicaLoad, PrefillIsThatOfWhatIsNotHeld) {
  const ReplicaLoad load = load_with(kLoadCosts);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 0), 6.4);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 9), 0.64);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 11), kLastToken);
}

TEST(ReplicaLoad, LaterTokensCostTheirKeys) {
  ReplicaReport costs = kLoadCosts;
  costs.seconds_per_prompt_key = 1e-3;
  const ReplicaLoad load = load_with(costs);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 0), 6.4 + 640 * 320e-3);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 5), 3.2 + 320 * 480e-3);
}

TEST(ReplicaLoad, BeginsBehindWhatIsQueued) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.sent(1, kLoadPrompt, 0, /*now=*/10);
  EXPECT_DOUBLE_EQ(load.seconds_left(10), 6.4);
  EXPECT_DOUBLE_EQ(load.seconds_left(12), 4.4);
  const RoutePrediction predicted = load.predict(kLoadPrompt, 9, kNotOvertaken, 12);
  EXPECT_DOUBLE_EQ(predicted.prefill, 0.64);
  EXPECT_DOUBLE_EQ(predicted.begins, 4.4 + 0.64);
  EXPECT_DOUBLE_EQ(predicted.ends, 4.4 + 0.64 + 10 * 0.1 * 1.5);  // two answers, reported for one
}

TEST(ReplicaLoad, AShortPromptOvertakesLongOnes) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.sent(1, {.n_prompt = 6400}, 0, 0);  // 64 s
  for (TicketId ticket = 2; ticket < 5; ++ticket) load.sent(ticket, {.n_prompt = 16}, 0, 0);
  constexpr RoutedWork kShort{.n_prompt = 100};  // 1 s
  EXPECT_DOUBLE_EQ(load.predict(kShort, 0, 2, 0).begins, 2 + 3 * 0.16 + 1);
  EXPECT_DOUBLE_EQ(load.predict(kShort, 0, kNotOvertaken, 0).begins, 64 + 3 * 0.16 + 1);
  load.ended(1, 0);
  EXPECT_NEAR(load.predict(kShort, 0, 2, 0).begins, 3 * 0.16 + 1, 1e-9);
  // Prompts of others, of which the lengths are not known.
  ReplicaReport report = kLoadCosts;
  report.seconds_left = 60;
  report.n_waiting = 2 + 3;
  load.report(report, /*asked=*/1);
  EXPECT_DOUBLE_EQ(load.predict(kShort, 0, 2, 1).begins, 2 * 2 + 3 * 0.16 + 1);
}

TEST(ReplicaLoad, WhatIsLateIsNotForgotten) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.sent(1, kLoadPrompt, 0, 0);
  load.sent(2, kLoadPrompt, 0, 0);
  EXPECT_DOUBLE_EQ(load.seconds_left(100), 6.4);  // half of both
  load.first_token(1, 100);
  load.first_token(1, 101);
  EXPECT_DOUBLE_EQ(load.seconds_left(101), 3.2);
  load.ended(2, 102);
  EXPECT_EQ(load.seconds_left(102), 0);
  EXPECT_EQ(load.n_open(), 1);
}

TEST(ReplicaLoad, WhatIsEarlyIsNotWaitedFor) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.sent(1, kLoadPrompt, 0, 0);
  load.first_token(1, 1);
  EXPECT_EQ(load.seconds_left(1), 0);
}

TEST(ReplicaLoad, AReportCountsWhatWasSentBeforeItWasAskedFor) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.sent(1, kLoadPrompt, 0, 0);
  load.sent(2, kLoadPrompt, 0, 2);
  ReplicaReport report = kLoadCosts;
  report.seconds_left = 10;  // 6.4 of the first request, the rest of others
  report.n_waiting = 3;
  load.report(report, /*asked=*/1);
  EXPECT_DOUBLE_EQ(load.seconds_left(1), 16.4);
  EXPECT_EQ(load.n_open(), 2 + 2);
  load.first_token(1, 2);
  load.first_token(2, 2);
  EXPECT_NEAR(load.seconds_left(2), 2.6, 1e-9);  // of others
}

TEST(ReplicaLoad, AFullReplicaIsWaitedFor) {
  ReplicaReport report = kLoadCosts;
  report.n_running = 4;
  const ReplicaLoad load = load_with(report);
  // A second for each of four answers: one ends after a quarter of it.
  EXPECT_DOUBLE_EQ(load.predict(kLoadPrompt, 10, kNotOvertaken, 0).begins, 0.25 + kLastToken);
  report.n_running = 3;
  EXPECT_DOUBLE_EQ(load_with(report).predict(kLoadPrompt, 10, kNotOvertaken, 0).begins, kLastToken);
}

TEST(ReplicaLoad, CostsThatAreNotReportedCountOn) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.report({}, 1);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 0), 6.4);
  EXPECT_GT(ReplicaLoad().prefill(kLoadPrompt, 0), 0) << "before the first report";
}

TEST(ReplicaLoad, ClearedItForgetsAllButItsCosts) {
  ReplicaLoad load = load_with(kLoadCosts);
  load.sent(7, kLoadPrompt, 0, 0);
  TicketId forgotten = 0;
  load.clear([&](TicketId ticket) { forgotten = ticket; });
  EXPECT_EQ(forgotten, 7u);
  EXPECT_EQ(load.n_tickets(), 0u);
  EXPECT_EQ(load.n_open(), 0);
  EXPECT_EQ(load.seconds_left(0), 0);
  EXPECT_DOUBLE_EQ(load.prefill(kLoadPrompt, 0), 6.4);
}

}  // namespace
}  // namespace pando
