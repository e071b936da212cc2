#include "exec/text_rows.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

using Rows = std::vector<uint32_t>;

// A text of five rows, from row 3 of pass 0 to row 4 of pass 2, and one of two rows, all of passes
// 0 to 2. Tiles have four positions, pages two.
StepPlan two_texts() {
  return {.tokens = {5, 6, 7, 8, 9, 3, 4},
          .positions = {0, 1, 2, 3, 4, 0, 1},
          .slot_begin = {0, 1, 2, 3, 4, 5, 6, 7},
          .slots = {{7, 0}, {7, 1}, {2, 0}, {2, 1}, {9, 0}, {4, 0}, {4, 1}},
          .tasks = {{0, 0, 5, 0, 2}, {0, 5, 7, 3, 1}, {1, 0, 5, 2, 1}},
          .task_pages = {7, 2, 9, 4},
          .texts = {{0, 5, 0, 3, 2, 4}, {5, 7, 0, 0, 2, 2}},
          .token_types = {0, 0, 0, 0, 1, 0, 1}};
}

TEST(TextRows, DivideAmongPasses) {
  EXPECT_EQ(rows_of_pass(two_texts(), 0), (Rows{3, 4, 5, 6}));
  EXPECT_EQ(rows_of_pass(two_texts(), 1), (Rows{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rows_of_pass(two_texts(), 2), (Rows{0, 1, 2, 3, 5, 6}));
  EXPECT_TRUE(rows_of_pass(two_texts(), 3).empty());
}

TEST(TextRows, SomeKeepTheirTilesAndSlots) {
  const StepPlan few = rows_of_texts(two_texts(), Rows{3, 4, 6});
  EXPECT_EQ(few.tokens, (std::vector<Token>{8, 9, 4}));
  EXPECT_EQ(few.positions, (Rows{3, 4, 1}));
  EXPECT_EQ(few.token_types, (Rows{0, 1, 1}));
  EXPECT_EQ(few.slot_begin, (Rows{0, 1, 2, 3}));
  EXPECT_EQ(few.slots, (std::vector<KvSlot>{{2, 1}, {9, 0}, {4, 1}}));
  EXPECT_EQ(few.tasks,
            (std::vector<AttentionTask>{{0, 0, 2, 0, 2}, {0, 2, 3, 3, 1}, {1, 0, 2, 2, 1}}));
}

// Padding (token 7) gets the row before that of position 0. Later positions do not count it.
TEST(TextRows, LearnedPositionsDoNotCountPadding) {
  const model::ModelSpec spec{.n_learned_positions = 9, .position_offset = 3, .pad_token = 7};
  EXPECT_EQ(learned_positions(two_texts(), Rows{0, 1, 2, 3, 4, 5, 6}, spec),
            (Rows{3, 4, 2, 5, 6, 3, 4}));
  EXPECT_EQ(learned_positions(two_texts(), Rows{2, 4, 6}, spec), (Rows{2, 6, 4}));
  const model::ModelSpec counted{.n_learned_positions = 9, .position_offset = 3};
  EXPECT_EQ(learned_positions(two_texts(), Rows{2, 4, 6}, counted), (Rows{5, 7, 4}));
}

TEST(TextRows, SeeTheirWholeText) {
  EXPECT_EQ(last_of_texts(two_texts(), Rows{0, 4, 5}), (Rows{4, 4, 1}));
}

}  // namespace
}  // namespace pando
