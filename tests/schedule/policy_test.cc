#include "schedule/policy.h"

#include <gtest/gtest.h>

#include "schedule/deadlines.h"

namespace pando {
namespace {

TEST(Policy, NumbersOfTheWorkedExample) {
  // Medha, section 4.1: at 5 seconds the long request has 5 of its 10 seconds done.
  const ScheduledRequest long_one{.arrival = 0, .deadline = 16, .work = 10, .left = 5};
  const ScheduledRequest short_one{.arrival = 5, .deadline = 6, .work = 0.5, .left = 0.5};
  EXPECT_EQ(fcfs_priority(long_one, 5), 0);
  EXPECT_EQ(fcfs_priority(short_one, 5), 5);
  EXPECT_EQ(edf_priority(long_one, 5), 16);
  EXPECT_EQ(edf_priority(short_one, 5), 6);
  EXPECT_EQ(lrs_priority(long_one, 5), 6);
  EXPECT_EQ(lrs_priority(short_one, 5), 0.5);
  EXPECT_EQ(lars_priority(long_one, 5), 0.6);
  EXPECT_EQ(lars_priority(short_one, 5), 1.0);
}

TEST(Policy, SlackFallsWhileWaitingAndNotWhileWorking) {
  const ScheduledRequest before{.deadline = 16, .work = 10, .left = 8};
  const ScheduledRequest after{.deadline = 16, .work = 10, .left = 6};
  EXPECT_EQ(lars_priority(after, 4), lars_priority(before, 2));
  EXPECT_LT(lars_priority(before, 4), lars_priority(before, 2));
}

TEST(Policy, ByName) {
  for (const Policy* policy : {&kFcfs, &kEdf, &kLrs, &kLars})
    EXPECT_EQ(policy_named(policy->name).value(), policy);
  EXPECT_EQ(policy_named("sjf").error().message(),
            "policy is 'sjf', expected fcfs, edf, lrs or lars");
}

// A chat goes before the documents of a ranking as long as these are in time, and is not held up by
// all that is left of them where they are late.
TEST(Policies, LarsPutsAChatBeforeOneOfManyAndALateListWhereOneLongPromptWouldBe) {
  const ScheduledRequest chat{.deadline = 1, .work = 0.003, .left = 0.003};
  const ScheduledRequest one_of_many{.deadline = 9, .work = 0.006, .left = 0.006, .all_work = 2.4};
  EXPECT_LT(lars_priority(chat, 0), lars_priority(one_of_many, 0));
  EXPECT_LT(lars_priority(chat, 0.5), lars_priority(one_of_many, 0.5));
  const ScheduledRequest late_chat{.deadline = 9.5, .work = 0.003, .left = 0.003};
  EXPECT_NEAR(lars_priority(one_of_many, 10), -1.006 / 2.4, 1e-9);
  EXPECT_LT(lars_priority(late_chat, 10), lars_priority(one_of_many, 10));
}

TEST(Deadlines, OfTheRequestOrElseOfItsClass) {
  const DeadlineClass otherwise{.ttft_slo = 1, .ttft_per_work = 4, .tpot_slo = 0.2};
  const ScheduledRequest request = scheduled_request(10, 0.1, {}, otherwise);
  EXPECT_EQ(request.arrival, 10);
  EXPECT_EQ(request.deadline, 11);
  EXPECT_EQ(request.work, 0.1);
  EXPECT_EQ(request.left, 0.1);
  EXPECT_EQ(request.tpot_slo, 0.2);
  EXPECT_EQ(scheduled_request(10, 2, {}, otherwise).deadline, 18) << "scaled by the work";
  const ScheduledRequest one_of_many = scheduled_request(10, 0.1, {.work_beside = 39.9}, otherwise);
  EXPECT_EQ(one_of_many.deadline, 10 + 4 * (0.1 + 39.9)) << "by the work of all";
  EXPECT_EQ(one_of_many.left, 0.1);
  EXPECT_EQ(one_of_many.work, 0.1);
  EXPECT_EQ(one_of_many.all_work, 0.1 + 39.9);
  const ScheduledRequest first =
      scheduled_request(10, 0.1, {.work_beside = 39.9, .work_behind = 39.9}, otherwise);
  EXPECT_EQ(first.deadline, 10 + 4 * (0.1 + 39.9) - 39.9) << "that is still to do then";
  const DeadlineClass fixed{.ttft_slo = 1, .ttft_per_work = 0, .tpot_slo = 0.2};
  EXPECT_EQ(scheduled_request(10, 0.1, {.work_beside = 9, .work_behind = 9}, fixed).deadline, 11);
  const DeadlineClass half{.ttft_slo = 0.01, .ttft_per_work = 0.5, .tpot_slo = 0.2};
  EXPECT_NEAR(scheduled_request(10, 0.1, {.work_beside = 39.9, .work_behind = 39.9}, half).deadline,
              10.05, 1e-9)
      << "not before it came";
  const ScheduledRequest waited = scheduled_request(10, 0.1, {.waited = 3}, otherwise);
  EXPECT_EQ(waited.arrival, 10);
  EXPECT_EQ(waited.deadline, 8) << "a second after it was sent";
  const ScheduledRequest asked =
      scheduled_request(10, 2, {.ttft_slo = 0.5, .tpot_slo = 0.01}, otherwise);
  EXPECT_EQ(asked.deadline, 10.5);
  EXPECT_EQ(asked.tpot_slo, 0.01);
}

}  // namespace
}  // namespace pando
