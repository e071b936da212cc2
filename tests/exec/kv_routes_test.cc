#include "exec/ranks/kv_routes.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace pando::exec {
namespace {

// Pages of 4 positions, tiles of 8, blocks of 16: two parts with 10 pages each. A path of 18
// positions whose first block is on part 1, as pages 10 to 13, and whose second is on part 0, as
// page 3; its last three positions are rows, and so is the first token of another path, on page 4.
constexpr KvParts kParts = {
    .n_parts = 2, .n_pages_each = 10, .block_len = 16, .tile_len = 8, .rows_each = 2};
StepPlan plan() {
  StepPlan plan{.tokens = {1, 2, 3, 4},
                .positions = {15, 16, 17, 0},
                .slot_begin = {0, 1, 2, 3, 4},
                .slots = {{13, 3}, {3, 0}, {3, 1}, {4, 0}},
                .copies = {{12, 13, 3}, {5, 3, 1}},
                .tasks = {{0, 0, 3, 0, 2}, {0, 3, 4, 2, 1}, {1, 0, 3, 3, 2}, {2, 1, 3, 5, 1}},
                .task_pages = {10, 11, 4, 12, 13, 3}};
  plan.outputs = {2, 3};
  return plan;
}

TEST(KvRoutes, NameWhoHasABlockAndWhoReadsARow) {
  const KvRoutes routes(plan(), kParts);
  EXPECT_EQ(routes.n_blocks(), 2u);
  EXPECT_TRUE(routes.has(1, 0, 0));
  EXPECT_TRUE(routes.has(1, 0, 2));
  EXPECT_FALSE(routes.has(0, 1, 0)) << "behind the row";
  EXPECT_TRUE(routes.has(0, 1, 1));
  EXPECT_TRUE(routes.has(0, 0, 3));
  EXPECT_FALSE(routes.reads(0, 0));
  EXPECT_TRUE(routes.reads(0, 1));
  EXPECT_TRUE(routes.reads(1, 1));
  EXPECT_FALSE(routes.reads(1, 3));
}

TEST(DealRows, ToThePartsThatHaveMostOfTheirKeys) {
  KvParts parts = kParts;
  parts.rows_each = 16;
  const DealtStep dealt = deal_rows(plan(), parts);
  EXPECT_EQ(dealt.row_begin, (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_EQ(dealt.plan.tokens, (std::vector<Token>{4, 1, 2, 3}));
  EXPECT_EQ(dealt.output_parts, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(dealt.reads_logits, (std::vector<bool>{true, true}));
  EXPECT_EQ(dealt.n_outputs_of(1), 1u);
  EXPECT_EQ(dealt.plan.outputs, (std::vector<uint32_t>{0, 3}));
}

TEST(DealRows, EvenlyWhereOnePartWouldHaveMost) {
  const DealtStep dealt = deal_rows(plan(), kParts);  // rows 2 and 3, then 0 and 1
  EXPECT_EQ(dealt.rows_of(0).end, 2u);
  EXPECT_EQ(dealt.rows_of(1).begin, 2u);
  EXPECT_EQ(dealt.rows_of(1).end, 4u);
  StepPlan expected{.tokens = {3, 4, 1, 2},
                    .positions = {17, 0, 15, 16},
                    .slot_begin = {0, 1, 2, 3, 4},
                    .slots = {{3, 1}, {4, 0}, {13, 3}, {3, 0}},
                    .copies = plan().copies,
                    .tasks = {{0, 0, 1, 0, 2},
                              {0, 1, 2, 2, 1},
                              {0, 2, 4, 0, 2},
                              {1, 0, 1, 3, 2},
                              {1, 2, 4, 3, 2},
                              {2, 0, 1, 5, 1},
                              {2, 3, 4, 5, 1}},
                    .task_pages = plan().task_pages};
  expected.outputs = {0, 1};
  EXPECT_EQ(dealt.plan, expected);
  EXPECT_EQ(dealt.output_parts, (std::vector<uint8_t>{0, 0}));
}

TEST(DealRows, OnePartHasThePlanAsItIs) {
  KvParts parts = kParts;
  parts.n_parts = 1;
  parts.n_pages_each = 20;
  const DealtStep dealt = deal_rows(plan(), parts);
  EXPECT_EQ(dealt.plan, plan());
  EXPECT_EQ(dealt.row_begin, (std::vector<uint32_t>{0, 4}));
}

TEST(KvRoutes, APartHasItsOwnPageNumbers) {
  const StepPlan own = plan_of_part(plan(), kParts, 1);
  EXPECT_EQ(own.slot_begin, (std::vector<uint32_t>{0, 1, 1, 1, 1}));
  EXPECT_EQ(own.slots, (std::vector<KvSlot>{{3, 3}}));
  EXPECT_EQ(own.copies, (std::vector<PageCopy>{{2, 3, 3}}));
  EXPECT_EQ(own.tasks, (std::vector<AttentionTask>{{0, 0, 3, 0, 2}, {1, 0, 3, 2, 2}}));
  EXPECT_EQ(own.task_pages, (std::vector<PageId>{0, 1, 2, 3}));
  EXPECT_EQ(own.tokens, plan().tokens);
  EXPECT_EQ(own.outputs, plan().outputs);
}

TEST(KvRoutes, ABlockOnTwoPartsIsABug) {
  StepPlan wrong = plan();
  wrong.task_pages[3] = 6;  // tile 1 of the first block
  EXPECT_THROW(KvRoutes(wrong, kParts), BugError);
}

TEST(KvRoutes, LongestPathFillsEveryPart) {
  EXPECT_EQ(longest_path(40, kParts), 2 * 32 + 8);  // blocks 0, 2 and half of 4 on the first part
  EXPECT_EQ(longest_path(12, kParts), 12u);
}

}  // namespace
}  // namespace pando::exec
