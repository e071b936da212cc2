// How long the rest of a run may take, from what was submitted and what was computed.
#include "batch/time_left.h"

#include <gtest/gtest.h>

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

TEST(TimeLeft, BeforeAnythingIsAnswered) {
  EXPECT_FALSE(time_left(after(0.5, 0, 0), kSubmitted));
  EXPECT_DOUBLE_EQ(*time_left(after(2, 100, 0), kSubmitted), 38) << "2000 rows in all, 50 a second";
  EXPECT_DOUBLE_EQ(*time_left(after(4, 300, 100), kSubmitted), 16);
}

TEST(TimeLeft, AnswersAreAsLongAsThoseBefore) {
  SubmittedWork submitted = kSubmitted;
  submitted.answered = 5;
  const BatchProgress now = after(4, 300, 20);
  EXPECT_DOUBLE_EQ(*time_left(now, submitted), 4 * (4 * (300 + 10 * 4) - 320) / 320.0);
}

// The first to end are the short ones, and say little of the others.
TEST(TimeLeft, ManyThatRunCountBesideFewThatHaveEnded) {
  SubmittedWork submitted = kSubmitted;
  submitted.answered = 1;
  EXPECT_DOUBLE_EQ(*time_left(after(4, 300, 15), submitted),
                   4 * (4 * (300 + 10 * 15) - 315) / 315.0);
  EXPECT_DOUBLE_EQ(*time_left(after(4, 300, 90), submitted),
                   4 * (4 * (300 + 10 * 20) - 390) / 390.0)
      << "no more than they may have";
}

TEST(TimeLeft, WhatWasAnsweredBeforeIsNotCounted) {
  BatchProgress now = after(2, 100, 0);
  now.share_earlier = 0.15;
  EXPECT_DOUBLE_EQ(*time_left(now, kSubmitted), 2 * (500 * 8.5 - 100) / 100);
  now.share_earlier = 0.25;
  EXPECT_FALSE(time_left(now, kSubmitted));
}

TEST(TimeLeft, AStopEndsWithWhatWasAsked) {
  BatchProgress now = after(2, 100, 0);
  now.stopping = true;
  EXPECT_DOUBLE_EQ(*time_left(now, kSubmitted), 8);
}

TEST(TimeLeft, AnInputOfUnknownSizeTellsNothing) {
  SubmittedWork submitted = kSubmitted;
  submitted.share_of_input = 0;
  EXPECT_FALSE(time_left(after(2, 100, 0), submitted));
}

}  // namespace
}  // namespace pando::testing
