#include "exec/slice.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

// Two paths that share four tokens, over tiles of two pages of two positions.
StepPlan plan_of_two_paths() {
  StepPlan plan;
  plan.tokens = {1, 2, 3, 4, 5, 6};
  plan.positions = {0, 1, 2, 3, 4, 4};
  plan.slot_begin = {0, 1, 2, 3, 4, 5, 6};
  plan.slots = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {3, 0}};
  plan.copies = {{7, 8, 1}};
  plan.tasks = {{0, 0, 6, 0, 2}, {1, 4, 5, 2, 1}, {1, 5, 6, 3, 1}};
  plan.task_pages = {0, 1, 2, 3};
  plan.outputs = {4, 5};
  plan.hidden_only = {5};
  return plan;
}

TEST(Slices, DoTogetherWhatThePlanDoes) {
  const StepPlan plan = plan_of_two_paths();
  const std::vector<StepPlan> slices = slices_of(plan, 3);
  ASSERT_EQ(slices.size(), 2u);
  StepPlan first;
  first.tokens = {1, 2, 3};
  first.positions = {0, 1, 2};
  first.slot_begin = {0, 1, 2, 3};
  first.slots = {{0, 0}, {0, 1}, {1, 0}};
  first.copies = {{7, 8, 1}};
  first.tasks = {{0, 0, 3, 0, 2}};
  first.task_pages = {0, 1};
  EXPECT_EQ(slices[0], first);
  StepPlan second;
  second.tokens = {4, 5, 6};
  second.positions = {3, 4, 4};
  second.slot_begin = {0, 1, 2, 3};
  second.slots = {{1, 1}, {2, 0}, {3, 0}};
  second.tasks = {{0, 0, 3, 0, 2}, {1, 1, 2, 2, 1}, {1, 2, 3, 3, 1}};
  second.task_pages = {0, 1, 2, 3};
  second.outputs = {1, 2};
  second.hidden_only = {2};
  EXPECT_EQ(slices[1], second);
}

TEST(Slices, OfFewRowsAreThePlan) {
  const StepPlan plan = plan_of_two_paths();
  EXPECT_EQ(slices_of(plan, 6), std::vector{plan});
}

TEST(Slices, TheAttentionOfSomeRowsIsThatOfThePlan) {
  StepPlan plan = plan_of_two_paths();
  plan.windows = {.slot_begin = {0, 1, 2, 3, 4, 5, 6},
                  .slots = plan.slots,
                  .copies = {{1, 2, 2}},
                  .task_pages = {3, 4, 5, 6}};
  StepPlan few;
  few.tokens = {2, 6};
  few.positions = {1, 4};
  few.slot_begin = {0, 0, 0};
  few.tasks = {{0, 0, 2, 0, 2}, {1, 1, 2, 3, 1}};
  few.task_pages = plan.task_pages;
  few.windows.slot_begin = few.slot_begin;
  few.windows.task_pages = plan.windows.task_pages;
  few.outputs = {0, 1};
  EXPECT_EQ(attention_of(plan, std::vector<uint32_t>{1, 5}), few);
  EXPECT_EQ(attention_of(plan, {}).n_rows(), 0u);
  EXPECT_TRUE(attention_of(plan, {}).tasks.empty());
}

TEST(Slices, CutWindowPagesToo) {
  StepPlan plan = plan_of_two_paths();
  plan.windows = {.slot_begin = {0, 0, 0, 1, 2, 3, 5},
                  .slots = {{4, 0}, {4, 1}, {5, 0}, {6, 0}, {5, 1}},
                  .copies = {{1, 2, 2}},
                  .task_pages = {3, 4, 5, 6}};
  const std::vector<StepPlan> slices = slices_of(plan, 5);
  ASSERT_EQ(slices.size(), 2u);
  const WindowLists last{
      .slot_begin = {0, 2}, .slots = {{6, 0}, {5, 1}}, .copies = {}, .task_pages = {3, 4, 6}};
  EXPECT_EQ(slices[1].windows, last);
  EXPECT_EQ(slices[0].windows.copies, plan.windows.copies);
}

// Rows 0 to 3 and 4 to 6 of two paths, a state after row 1, and one where a slice ends anyway.
TEST(Slices, GoOnFromTheStateOfTheLastRow) {
  StepPlan plan;
  for (uint32_t i = 0; i < 7; ++i) {
    plan.tokens.push_back(1);
    plan.positions.push_back(i % 4);
  }
  plan.slot_begin.assign(8, 0);
  plan.state_tasks = {{0, 4, kNoStateSlot}, {4, 7, 5}};
  plan.state_writes = {{1, 2}, {5, 3}};
  const std::vector<StepPlan> slices = slices_of(plan, 3, /*spare=*/8);
  ASSERT_EQ(slices.size(), 3u);
  using Tasks = std::vector<StateTask>;
  using Writes = std::vector<StateWrite>;
  EXPECT_EQ(slices[0].state_tasks, (Tasks{{0, 3, kNoStateSlot}}));
  EXPECT_EQ(slices[0].state_writes, (Writes{{1, 2}, {2, 9}}));
  EXPECT_EQ(slices[1].state_tasks, (Tasks{{0, 1, 9}, {1, 3, 5}}));
  EXPECT_EQ(slices[1].state_writes, (Writes{{2, 3}})) << "the second path's own place";
  EXPECT_EQ(slices[2].state_tasks, (Tasks{{0, 1, 3}}));
  EXPECT_EQ(slices[2].state_writes, Writes{});
  const std::vector<StepPlan> rows = slices_of(plan, 1, 8);
  EXPECT_EQ(rows[3].state_tasks, (Tasks{{0, 1, 9}}));
  EXPECT_EQ(rows[2].state_tasks, (Tasks{{0, 1, 2}}));
  EXPECT_EQ(rows[2].state_writes, (Writes{{0, 9}}));
}

}  // namespace
}  // namespace pando
