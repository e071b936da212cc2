#include "plan/attention_tasks.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

// Pages of 2 positions, tiles of 4. One row per letter and position:
//   run 0: rows 0-2 at positions 3-5, pages 10 11 12
//   run 1: rows 3-4 at positions 6-7, its child, pages 10 11 12 13
//   run 2: row 5 at position 6, another child, pages 10 11 12 14
//   run 3: row 6 at position 0, another root, page 20
RowLayout small_layout() {
  RowLayout layout;
  layout.step.plan.positions = {3, 4, 5, 6, 7, 6, 0};
  layout.step.plan.tokens.resize(7);
  layout.pages = {10, 11, 12, 10, 11, 12, 13, 10, 11, 12, 14, 20};
  layout.runs = {{0, 3, 0, 3, nullptr, false},
                 {3, 5, 3, 4, nullptr, true},
                 {5, 6, 7, 4, nullptr, false},
                 {6, 7, 11, 1, nullptr, false}};
  return layout;
}

struct Task {
  uint32_t tile, row_begin, row_end;
  std::vector<PageId> pages;
  bool operator==(const Task&) const = default;
};

std::vector<Task> tasks_of(const StepPlan& plan) {
  std::vector<Task> tasks;
  for (const AttentionTask& task : plan.tasks) {
    const auto pages = plan.task_pages.begin() + task.first_page;
    tasks.push_back({task.tile, task.row_begin, task.row_end, {pages, pages + task.n_pages}});
  }
  return tasks;
}

TEST(AttentionTasks, AcrossSequencesSharedTilesAreMetOnce) {
  RowLayout layout = small_layout();
  append_attention_tasks(layout, 2, 4, TaskSharing::kAcrossSequences);
  EXPECT_EQ(tasks_of(layout.step.plan),
            (std::vector<Task>{
                {0, 0, 6, {10, 11}}, {0, 6, 7, {20}}, {1, 1, 5, {12, 13}}, {1, 5, 6, {12, 14}}}));
}

TEST(AttentionTasks, WithinSequenceOnlyOnePathJoins) {
  RowLayout layout = small_layout();
  append_attention_tasks(layout, 2, 4, TaskSharing::kWithinSequence);
  EXPECT_EQ(tasks_of(layout.step.plan), (std::vector<Task>{{0, 0, 5, {10, 11}},
                                                           {0, 5, 6, {10, 11}},
                                                           {0, 6, 7, {20}},
                                                           {1, 1, 5, {12, 13}},
                                                           {1, 5, 6, {12, 14}}}));
}

TEST(AttentionTasks, OnePagePerTileSharesEveryPage) {
  RowLayout layout = small_layout();
  append_attention_tasks(layout, 2, 2, TaskSharing::kAcrossSequences);
  EXPECT_EQ(tasks_of(layout.step.plan), (std::vector<Task>{{0, 0, 6, {10}},
                                                           {0, 6, 7, {20}},
                                                           {1, 0, 6, {11}},
                                                           {2, 1, 6, {12}},
                                                           {3, 3, 5, {13}},
                                                           {3, 5, 6, {14}}}));
}

TEST(AttentionTasks, NoRowsNoTasks) {
  RowLayout layout;
  append_attention_tasks(layout, 2, 4, TaskSharing::kAcrossSequences);
  EXPECT_TRUE(layout.step.plan.tasks.empty());
}

}  // namespace
}  // namespace pando
