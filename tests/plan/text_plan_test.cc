#include "plan/text_plan.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

using Rows = std::vector<uint32_t>;

constexpr Token kFive[] = {5, 6, 7, 8, 9}, kTwo[] = {3, 4};
constexpr PageId kFivePages[] = {7, 2, 9}, kTwoPages[] = {4};
constexpr uint8_t kTypes[] = {0, 1};
constexpr uint32_t kLast[] = {4};

// Elements 3 to 14 of five rows: two rows of pass 0, pass 1, and four rows of pass 2. Both rows of
// the other text go through passes 0 to 2, of which the last gives outputs.
StepPlan two_texts() {
  constexpr uint32_t kBoth[] = {0, 1};
  const PlannedText texts[] = {{.tokens = kFive,
                                .token_types = {},
                                .pages = kFivePages,
                                .begin = 3,
                                .end = 14,
                                .outputs = {}},
                               {.tokens = kTwo,
                                .token_types = kTypes,
                                .pages = kTwoPages,
                                .begin = 0,
                                .end = 6,
                                .outputs = kBoth}};
  return plan_texts(texts, /*page_len=*/2, /*tile_len=*/4);
}

TEST(TextPlan, HasAllRowsOfEachText) {
  const StepPlan plan = two_texts();
  EXPECT_EQ(plan.tokens, (std::vector<Token>{5, 6, 7, 8, 9, 3, 4}));
  EXPECT_EQ(plan.positions, (Rows{0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(plan.slots,
            (std::vector<KvSlot>{{7, 0}, {7, 1}, {2, 0}, {2, 1}, {9, 0}, {4, 0}, {4, 1}}));
  EXPECT_EQ(plan.token_types, (Rows{0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(plan.texts, (std::vector<TextPasses>{{0, 5, 0, 3, 2, 4}, {5, 7, 0, 0, 2, 2}}));
  EXPECT_EQ(plan.outputs, (Rows{5, 6}));
  EXPECT_EQ(plan.hidden_only, plan.outputs);
}

// Every row meets every tile of its text, also those behind it.
TEST(TextPlan, RowsMeetAllTilesOfTheirText) {
  const StepPlan plan = two_texts();
  EXPECT_EQ(plan.tasks,
            (std::vector<AttentionTask>{{0, 0, 5, 0, 2}, {0, 5, 7, 3, 1}, {1, 0, 5, 2, 1}}));
  EXPECT_EQ(plan.task_pages, (std::vector<PageId>{7, 2, 9, 4}));
}

TEST(TextPlan, OneElementIsAStep) {
  const PlannedText text{.tokens = kFive,
                         .token_types = {},
                         .pages = kFivePages,
                         .begin = 14,
                         .end = 15,
                         .outputs = kLast};
  const StepPlan plan = plan_texts({&text, 1}, 2, 4);
  EXPECT_EQ(plan.texts, (std::vector<TextPasses>{{0, 5, 2, 4, 2, 5}}));
  EXPECT_TRUE(plan.token_types.empty());
}

}  // namespace
}  // namespace pando
