// `padded`, `length_ordered` and `prepacked` on random steps, against `packed`.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lab/techniques/masked_pass.h"
#include "lab/techniques/relayout.h"
#include "lab/techniques/static_batcher.h"
#include "lab/tests/beside_packed.h"

namespace pando::lab {
namespace {

constexpr int kTile = BesidePacked::kTile;

class BatchPlans : public BesidePacked {
 public:
  BatchPlans(const char* sharing, uint32_t seed)
      : BesidePacked({.seed = seed, .n_pages = 80, .alphabet = 6, .n_sequences = 9}, sharing) {}

  int n_pads = 0, n_masked = 0, n_paged = 0;

 private:
  void compare(const PlannedStep& old, const PlannedStep& step, const RowLayout&) override {
    const StepPlan& plan = step.plan;
    const MaskedRows& masked = planner<MaskedPlanner>().masked();
    n_pads += static_cast<int>(step.n_pads);
    n_masked += static_cast<int>(masked.n_rows());
    n_paged += static_cast<int>(plan.n_rows() - masked.n_rows() - masked.n_idle);
    ASSERT_EQ(plan.n_rows(), old.plan.n_rows() + step.n_pads);

    // Each row is one row of the old plan: slots belong to one row, and outputs are in order.
    std::vector<uint32_t> old_of(plan.n_rows(), kPad);
    find_rows(plan, old.plan, old_of);
    for (size_t i = 0; i < step.output_of.size(); ++i) {
      const uint32_t row = plan.outputs.at(step.output_of[i]);
      const uint32_t old_row = old.plan.outputs[old.output_of[i]];
      ASSERT_EQ(plan.tokens[row], old.plan.tokens[old_row]);
      ASSERT_EQ(plan.positions[row], old.plan.positions[old_row]);
      ASSERT_TRUE(old_of[row] == kPad || old_of[row] == old_row);
      old_of[row] = old_row;
    }
    ASSERT_TRUE(std::ranges::is_sorted(plan.outputs));
    check_masks(plan, masked, old_of);
    check_tasks(plan, old.plan, old_of, masked.n_rows());
  }

  static void find_rows(const StepPlan& plan, const StepPlan& old, std::vector<uint32_t>& old_of) {
    std::map<std::pair<PageId, uint32_t>, uint32_t> writer;
    for (uint32_t row = 0; row < old.n_rows(); ++row)
      for (uint32_t i = old.slot_begin[row]; i < old.slot_begin[row + 1]; ++i)
        writer[{old.slots[i].page, old.slots[i].offset}] = row;
    size_t n_found = 0;
    for (uint32_t row = 0; row < plan.n_rows(); ++row)
      for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i, ++n_found) {
        const uint32_t old_row = writer.at({plan.slots[i].page, plan.slots[i].offset});
        ASSERT_TRUE(old_of[row] == kPad || old_of[row] == old_row);
        old_of[row] = old_row;
        ASSERT_EQ(plan.tokens[row], old.tokens[old_row]);
        ASSERT_EQ(plan.positions[row], old.positions[old_row]);
      }
    ASSERT_EQ(n_found, old.slots.size());
  }

  // A masked row of a prompt sees the rows of its own prompt up to itself, a pad itself.
  static void check_masks(const StepPlan& plan, const MaskedRows& masked,
                          const std::vector<uint32_t>& old_of) {
    std::set<std::pair<PageId, uint32_t>> cells;
    uint32_t n_rows = 0;
    for (const kernel::MaskedStack& stack : masked.stacks) {
      ASSERT_EQ(stack.row_begin, n_rows);
      ASSERT_EQ(stack.n_rows(), stack.n_cells);
      n_rows = stack.row_end;
      const uint32_t n_tiles = (stack.n_cells + kTile - 1) / kTile;
      for (uint32_t row = stack.row_begin; row < stack.row_end; ++row) {
        const uint32_t cell = row - stack.row_begin;
        const KvSlot slot = masked.slots.at(masked.slot_begin.at(row));
        ASSERT_TRUE(cells.emplace(slot.page, slot.offset).second);
        ASSERT_EQ(slot.page, masked.pages.at(stack.first_page + cell / 4));
        ASSERT_EQ(slot.offset, cell % 4);
        ASSERT_EQ(masked.cell_positions.at(stack.first_cell + cell), plan.positions[row]);
        const bool pad = old_of[row] == kPad;
        for (uint32_t other = 0; other < stack.n_cells; ++other) {
          const bool sees =
              masked.masks.at(stack.first_mask + cell * n_tiles + other / kTile) >> other % kTile &
              1;
          const uint32_t distance = cell - other;
          const bool expected = pad ? other == cell
                                    : other <= cell && distance <= plan.positions[row] &&
                                          old_of[stack.row_begin + other] + distance == old_of[row];
          ASSERT_EQ(sees, expected) << "row " << row << " cell " << other;
        }
      }
    }
  }

  // The rows behind have the old tasks.
  static void check_tasks(const StepPlan& plan, const StepPlan& old,
                          const std::vector<uint32_t>& old_of, uint32_t n_masked) {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<PageId>> pages, old_pages;  // row, tile
    const auto collect = [](const StepPlan& of, uint32_t shift, auto& into, const auto& name) {
      for (const AttentionTask& task : of.tasks)
        for (uint32_t row = task.row_begin; row < task.row_end; ++row) {
          const auto first = of.task_pages.begin() + task.first_page;
          ASSERT_TRUE(into.emplace(std::pair{name(row + shift), task.tile},
                                   std::vector<PageId>(first, first + task.n_pages))
                          .second);
        }
    };
    collect(plan, n_masked, pages, [&](uint32_t row) { return old_of.at(row); });
    collect(old, 0, old_pages, [](uint32_t row) { return row; });
    for (uint32_t row = 0; row < n_masked; ++row)
      std::erase_if(old_pages, [&](const auto& entry) { return entry.first.first == old_of[row]; });
    ASSERT_EQ(pages, old_pages);
    for (size_t i = 1; i < plan.tasks.size(); ++i)
      ASSERT_LT(std::pair(plan.tasks[i - 1].tile, plan.tasks[i - 1].row_begin),
                std::pair(plan.tasks[i].tile, plan.tasks[i].row_begin));
  }
};

TEST(BatchPlanners, PadsAndBinsKeepEveryRow) {
  for (const char* sharing : {"padded", "length_ordered", "prepacked:dense"}) {
    BatchPlans plans(sharing, 7);
    plans.run(5000);
    EXPECT_GT(plans.n_pads, 50) << sharing;
    EXPECT_GT(plans.n_masked, 200) << sharing;
    EXPECT_GT(plans.n_paged, 50) << sharing;
  }
}

TEST(BatchPlanners, RaggedRowsAreThoseOfPacked) {
  BatchPlans plans("prepacked", 8);
  plans.run(3000);
  EXPECT_EQ(plans.n_pads, 0);
  EXPECT_EQ(plans.n_masked, 0);
  EXPECT_TRUE(plans.technique().exact);
}

TEST(BatchPlanners, Batches) {
  const auto batching = [](const char* sharing) {
    return dynamic_cast<StaticBatcher&>(*technique_named(sharing, kTile).batcher).batching();
  };
  EXPECT_EQ(batching("padded:batch=4,rows=99").n_sequences, 4u);
  EXPECT_EQ(batching("padded:batch=4,rows=99").n_rows, 99u);
  EXPECT_EQ(batching("padded").shape, StaticBatching::Shape::kRectangle);
  EXPECT_EQ(batching("length_ordered").order, StaticBatching::Order::kLength);
  EXPECT_EQ(batching("prepacked:dataset").order, StaticBatching::Order::kBins);
  EXPECT_EQ(batching("prepacked").shape, StaticBatching::Shape::kRagged);
  EXPECT_EQ(batching("prepacked:dense").shape, StaticBatching::Shape::kBins);
  EXPECT_FALSE(technique_named("prepacked:dense", kTile).exact);
}

}  // namespace
}  // namespace pando::lab
