// `hydragen` on random trees and steps: every row meets every position of its past once, level by
// level, in pages that hold its own past.
#include <gtest/gtest.h>

#include "lab/techniques/level_pass.h"
#include "lab/tests/technique_testing.h"
#include "plan/random_plans.h"

namespace pando::lab {
namespace {

constexpr uint32_t kTile = 8;

class HydragenPlans : public RandomCache {
 public:
  HydragenPlans(const RandomCacheOptions& options, const char* sharing)
      : RandomCache(options), technique_(technique_named(sharing, kTile)) {}

  int n_shared = 0;       // tasks with rows of more than one path
  int n_many_levels = 0;  // rows of three levels or more

 protected:
  void execute() override {
    std::vector<WantedOutput> wanted;
    for (const Sequence& sequence : sequences()) {
      const Node* tip = sequence.tip;
      if (tip->n_issued == tip->size() && below(3) > 0)
        wanted.push_back({sequence.tip, tip->end() - 1, tip->end()});
    }
    const RowLayout layout = lay_out_rows(cache(), wanted);
    const std::vector<RowOf> rows = identify_rows(layout, cache());
    const PlannedStep step = technique_.planner->plan(cache(), wanted);
    const StepPlan& plan = step.plan;
    ASSERT_EQ(plan.tokens, layout.step.plan.tokens);
    ASSERT_TRUE(plan.tasks.empty());
    check_slots(plan, rows, cache());
    check_outputs(step, rows, wanted);
    RandomCache::execute();
    for (uint32_t row = 0; row < plan.n_rows(); ++row)
      for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
        ASSERT_EQ(memory().at(plan.slots[i].page, plan.slots[i].offset),
                  fingerprints_of(rows[row].first)[plan.positions[row]]);
    check_levels(plan, rows);
  }

 private:
  void check_levels(const StepPlan& plan, const std::vector<RowOf>& rows) {
    const LevelRows& levels = dynamic_cast<const LevelPlanner&>(*technique_.planner).levels();
    std::map<uint32_t, std::pair<const kernel::LevelTask*, uint32_t>> task_of;  // by state: and row
    for (const kernel::LevelTask& task : levels.tasks) {
      ASSERT_LT(task.row_begin, task.row_end);
      for (uint32_t row = task.row_begin; row < task.row_end; ++row)
        ASSERT_TRUE(
            task_of.try_emplace(task.first_state + row - task.row_begin, &task, row).second);
      n_shared += !is_at_or_above(rows[task.row_begin].first, rows[task.row_end - 1].first);
    }
    ASSERT_EQ(levels.states_begin.size(), rows.size() + 1);
    ASSERT_EQ(levels.states.size(), task_of.size());
    for (uint32_t row = 0; row < rows.size(); ++row) {
      uint32_t next = 0;  // position that the next level begins with
      const std::vector<Fingerprint> path = fingerprints_of(rows[row].first);
      const uint32_t begin = levels.states_begin[row], end = levels.states_begin[row + 1];
      n_many_levels += end - begin >= 3;
      for (uint32_t i = begin; i < end; ++i) {
        const auto [task, of_row] = task_of.at(levels.states[i]);
        ASSERT_EQ(of_row, row);
        if (task->pos_begin > plan.positions[row]) continue;  // an empty part
        ASSERT_EQ(task->pos_begin, next);
        const uint32_t first_page = task->pos_begin / kTile * (kTile / page_len());
        for (; next < std::min(task->pos_end, plan.positions[row] + 1); ++next) {
          const uint32_t page = next / page_len() - first_page;
          ASSERT_LT(page, task->n_pages);
          ASSERT_EQ(memory().at(levels.pages.at(task->first_page + page), next % page_len()),
                    path[next]);
        }
      }
      ASSERT_EQ(next, plan.positions[row] + 1);
    }
  }
  uint32_t page_len() const { return static_cast<uint32_t>(cache().page_len()); }

  Technique technique_;
};

TEST(Hydragen, EveryRowMeetsItsPastOnce) {
  for (const char* sharing : {"hydragen", "hydragen:levels=3", "hydragen:levels=1+4+9"})
    for (const RandomCacheOptions& options :
         {RandomCacheOptions{.seed = 1, .n_pages = 20, .n_keys = 1},
          RandomCacheOptions{.seed = 2, .n_pages = 40, .alphabet = 3, .n_sequences = 16},
          RandomCacheOptions{.seed = 3, .page_len = 2, .n_pages = 30}}) {
      HydragenPlans plans(options, sharing);
      plans.run(6000);
      EXPECT_GT(plans.n_shared, 5) << sharing;
      if (std::string_view(sharing) != "hydragen:levels=3") {
        EXPECT_GT(plans.n_many_levels, 5) << sharing;
      }
    }
}

TEST(Hydragen, LevelsMustAscend) {
  open_techniques();
  for (const char* sharing :
       {"hydragen:levels=0", "hydragen:levels=4+4", "hydragen:levels=4+", "hydragen:levels=x"})
    EXPECT_FALSE(make_technique(sharing, kTile)) << sharing;
  EXPECT_TRUE(make_technique("hydragen:levels=1+2+3", kTile));
}

}  // namespace
}  // namespace pando::lab
