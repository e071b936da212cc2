// How long the rest of a run may take, from what was submitted and what was computed.
#include "batch/time_left.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pando::testing {
namespace {

// A quarter of the input: ten answers of at most 20 tokens to prompts of 100, of which 300 in all
// are new.
const SubmittedWork kSubmitted = {
    .answers = 10, .most_tokens = 200, .answered = 0, .share_of_input = 0.25};

BatchProgress after(double seconds, uint64_t prefill_rows, uint64_t decode_rows) {
  BatchProgress now{.seconds = seconds};
  now.stats.arrived_tokens = 1000;
  now.stats.arrived_shared = 700;
  now.stats.prefill_rows = prefill_rows;
  now.stats.decode_rows = decode_rows;
  return now;
}

// Before updates tell prompts and answers apart, their rows take equally long.
std::optional<double> first_estimate(const BatchProgress& now, const SubmittedWork& submitted) {
  return TimeLeft().update(now, submitted);
}

TEST(TimeLeft, BeforeAnythingIsAnswered) {
  EXPECT_FALSE(first_estimate(after(0.5, 0, 0), kSubmitted));
  EXPECT_NEAR(*first_estimate(after(2, 100, 0), kSubmitted), 38, 1e-9)
      << "2000 rows in all, 50 a second";
  EXPECT_NEAR(*first_estimate(after(4, 300, 100), kSubmitted), 16, 1e-9);
}

TEST(TimeLeft, AnswersAreAsLongAsThoseBefore) {
  SubmittedWork submitted = kSubmitted;
  submitted.answered = 5;
  const BatchProgress now = after(4, 300, 20);
  EXPECT_NEAR(*first_estimate(now, submitted), 4 * (4 * (300 + 10 * 4) - 320) / 320.0, 1e-9);
}

// The first to end are the short ones, and say little of the others.
TEST(TimeLeft, ManyThatRunCountBesideFewThatHaveEnded) {
  SubmittedWork submitted = kSubmitted;
  submitted.answered = 1;
  EXPECT_NEAR(*first_estimate(after(4, 300, 15), submitted),
              4 * (4 * (300 + 10 * 15) - 315) / 315.0, 1e-9);
  EXPECT_NEAR(*first_estimate(after(4, 300, 90), submitted),
              4 * (4 * (300 + 10 * 20) - 390) / 390.0, 1e-9)
      << "no more than they may have";
}

TEST(TimeLeft, WhatWasAnsweredBeforeIsNotCounted) {
  BatchProgress now = after(2, 100, 0);
  now.share_earlier = 0.15;
  EXPECT_NEAR(*first_estimate(now, kSubmitted), 2 * (500 * 8.5 - 100) / 100, 1e-9);
  now.share_earlier = 0.25;
  EXPECT_FALSE(first_estimate(now, kSubmitted));
}

TEST(TimeLeft, AStopEndsWithWhatWasAsked) {
  BatchProgress now = after(2, 100, 0);
  now.stopping = true;
  EXPECT_NEAR(*first_estimate(now, kSubmitted), 8, 1e-9);
}

TEST(TimeLeft, WhatAStopTakesBackIsNotCounted) {
  BatchProgress now = after(2, 100, 0);
  now.stopping = true;
  SubmittedWork submitted = kSubmitted;
  submitted.answers = 5;
  submitted.most_tokens = 100;
  submitted.taken_back = 5;
  EXPECT_NEAR(*first_estimate(now, submitted), (50 + 100) / 50.0, 1e-9);
  submitted.answers = 0;
  EXPECT_FALSE(first_estimate(now, submitted));
}

TEST(TimeLeft, AStopNeedsNoSizeOfTheInput) {
  SubmittedWork submitted = kSubmitted;
  submitted.share_of_input = 0;
  BatchProgress now = after(2, 100, 0);
  EXPECT_FALSE(first_estimate(now, submitted));
  now.stopping = true;
  EXPECT_NEAR(*first_estimate(now, submitted), 8, 1e-9);
}

// All of the input is submitted: prompts at 1000 rows a second for 30 s, then answers at 10.
TEST(TimeLeft, FallsWhenAnswersFollowPrompts) {
  const SubmittedWork submitted = {
      .answers = 30, .most_tokens = 3000, .answered = 0, .share_of_input = 1};
  TimeLeft time_left;
  double before = 0;
  for (double seconds = 0.5; seconds <= 330; seconds += 0.5) {
    BatchProgress now{.seconds = seconds};
    now.stats.arrived_tokens = 30'000;
    now.stats.prefill_rows = static_cast<uint64_t>(1000 * std::min(seconds, 30.0));
    now.stats.decode_rows = static_cast<uint64_t>(10 * std::max(0.0, seconds - 30));
    const double found = *time_left.update(now, submitted);
    if (seconds > 60) {
      ASSERT_NEAR(found, 330 - seconds, 3) << seconds;
      ASSERT_LT(found, before) << seconds;
    }
    before = found;
  }
}

// Prompts and answers in the same steps: one second for every 100 rows of prompts, and one for
// every 10 of answers.
TEST(RowSeconds, AreToldApartWherePartsDiffer) {
  RowSeconds row_seconds;
  double seconds = 0;
  uint64_t n_prefill = 0, n_decode = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t p = 20 + 60 * (i % 3), d = 3 + i % 5;
    n_prefill += p;
    n_decode += d;
    seconds += static_cast<double>(p) / 100 + static_cast<double>(d) / 10;
    row_seconds.update(seconds, n_prefill, n_decode);
    row_seconds.update(seconds + 0.01, n_prefill, n_decode);  // nothing was computed
  }
  EXPECT_NEAR(row_seconds.prefill(), 0.01, 2e-4);
  EXPECT_NEAR(row_seconds.decode(), 0.1, 2e-3);
}

TEST(RowSeconds, AreAlikeWhereNothingTellsThemApart) {
  RowSeconds row_seconds;
  for (int i = 1; i <= 5; ++i) row_seconds.update(i, 30 * i, 20 * i);
  EXPECT_NEAR(row_seconds.prefill(), 0.02, 1e-9);
  EXPECT_NEAR(row_seconds.decode(), 0.02, 1e-9);
}

// A second with half of the rows, in a run that has 30 to go.
TEST(TimeLeft, ASlowStepShowsLittle) {
  const SubmittedWork submitted = {
      .answers = 10, .most_tokens = 600, .answered = 0, .share_of_input = 1};
  TimeLeft time_left;
  const auto at = [&](double seconds, uint64_t decode_rows) {
    BatchProgress now{.seconds = seconds};
    now.stats.decode_rows = decode_rows;
    return *time_left.update(now, submitted);
  };
  for (int i = 1; i <= 60; ++i) at(0.5 * i, 5 * i);
  EXPECT_NEAR(at(31, 305), 29.5, 1);
  EXPECT_LT(at(31.5, 310), 30);
}

TEST(TimeLeft, AnInputOfUnknownSizeTellsNothing) {
  SubmittedWork submitted = kSubmitted;
  submitted.share_of_input = 0;
  EXPECT_FALSE(first_estimate(after(2, 100, 0), submitted));
}

}  // namespace
}  // namespace pando::testing
