// Predictions of one replica, by hand.
#include "schedule/replica_load.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

constexpr ReplicaReport kCosts{
    .max_running = 4, .seconds_per_prompt_token = 0.01, .seconds_per_step = 0.1};
constexpr RoutedWork kPrompt{.n_prompt = 640, .n_answer = 10};  // 6.4 s, ten pieces

ReplicaLoad load_with(const ReplicaReport& report) {
  ReplicaLoad load;
  load.report(report, 0);
  return load;
}

TEST(ReplicaLoad, PrefillIsThatOfWhatIsNotHeld) {
  const ReplicaLoad load = load_with(kCosts);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 0), 6.4);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 9), 0.64);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 11), 0);
}

TEST(ReplicaLoad, LaterTokensCostTheirKeys) {
  ReplicaReport costs = kCosts;
  costs.seconds_per_prompt_key = 1e-3;
  const ReplicaLoad load = load_with(costs);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 0), 6.4 + 640 * 320e-3);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 5), 3.2 + 320 * 480e-3);
}

TEST(ReplicaLoad, BeginsBehindWhatIsQueued) {
  ReplicaLoad load = load_with(kCosts);
  load.sent(1, kPrompt, 0, /*now=*/10);
  EXPECT_DOUBLE_EQ(load.seconds_left(10), 6.4);
  EXPECT_DOUBLE_EQ(load.seconds_left(12), 4.4);
  const RoutePrediction predicted = load.predict(kPrompt, 9, 12);
  EXPECT_DOUBLE_EQ(predicted.prefill, 0.64);
  EXPECT_DOUBLE_EQ(predicted.begins, 4.4 + 0.64);
  EXPECT_DOUBLE_EQ(predicted.ends, 4.4 + 0.64 + 10 * 0.1 * 1.5);  // two answers, reported for one
}

TEST(ReplicaLoad, WhatIsLateIsNotForgotten) {
  ReplicaLoad load = load_with(kCosts);
  load.sent(1, kPrompt, 0, 0);
  load.sent(2, kPrompt, 0, 0);
  EXPECT_DOUBLE_EQ(load.seconds_left(100), 6.4);  // half of both
  load.first_token(1, 100);
  load.first_token(1, 101);
  EXPECT_DOUBLE_EQ(load.seconds_left(101), 3.2);
  load.ended(2, 102);
  EXPECT_EQ(load.seconds_left(102), 0);
  EXPECT_EQ(load.n_open(), 1);
}

TEST(ReplicaLoad, WhatIsEarlyIsNotWaitedFor) {
  ReplicaLoad load = load_with(kCosts);
  load.sent(1, kPrompt, 0, 0);
  load.first_token(1, 1);
  EXPECT_EQ(load.seconds_left(1), 0);
}

TEST(ReplicaLoad, AReportCountsWhatWasSentBeforeItWasAskedFor) {
  ReplicaLoad load = load_with(kCosts);
  load.sent(1, kPrompt, 0, 0);
  load.sent(2, kPrompt, 0, 2);
  ReplicaReport report = kCosts;
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
  ReplicaReport report = kCosts;
  report.n_running = 4;
  const ReplicaLoad load = load_with(report);
  // A second for each of four answers: one ends after a quarter of it.
  EXPECT_DOUBLE_EQ(load.predict(kPrompt, 10, 0).begins, 0.25);
  report.n_running = 3;
  EXPECT_EQ(load_with(report).predict(kPrompt, 10, 0).begins, 0);
}

TEST(ReplicaLoad, CostsThatAreNotReportedCountOn) {
  ReplicaLoad load = load_with(kCosts);
  load.report({}, 1);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 0), 6.4);
  EXPECT_GT(ReplicaLoad().prefill(kPrompt, 0), 0) << "before the first report";
}

TEST(ReplicaLoad, ClearedItForgetsAllButItsCosts) {
  ReplicaLoad load = load_with(kCosts);
  load.sent(7, kPrompt, 0, 0);
  TicketId forgotten = 0;
  load.clear([&](TicketId ticket) { forgotten = ticket; });
  EXPECT_EQ(forgotten, 7u);
  EXPECT_EQ(load.n_tickets(), 0u);
  EXPECT_EQ(load.n_open(), 0);
  EXPECT_EQ(load.seconds_left(0), 0);
  EXPECT_DOUBLE_EQ(load.prefill(kPrompt, 0), 6.4);
}

}  // namespace
}  // namespace pando
