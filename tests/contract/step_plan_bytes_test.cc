#include "contract/step_plan_bytes.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pando {
namespace {

StepPlan small_plan() {
  return {.tokens = {5, 6, 7},
          .positions = {0, 1, 1},
          .slot_begin = {0, 2, 3, 3},
          .slots = {{1, 0}, {2, 0}, {1, 1}},
          .copies = {{3, 4, 2}},
          .tasks = {{0, 0, 3, 0, 1}},
          .task_pages = {1},
          .outputs = {1, 2},
          .hidden_only = {2}};
}

std::vector<uint32_t> words_of(const StepPlan& plan) {
  const std::vector<std::byte> bytes = to_bytes(plan);
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

std::string error_of(const std::vector<uint32_t>& words) {
  const Result<StepPlan> plan = step_plan_from_bytes(std::as_bytes(std::span(words)));
  return plan ? "" : plan.error().message();
}

std::string error_of(const StepPlan& plan) { return error_of(words_of(plan)); }

TEST(StepPlanBytes, ReadBackAsWritten) {
  const StepPlan plan = small_plan();
  const Result<StepPlan> read = step_plan_from_bytes(to_bytes(plan));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, plan);
}

// Two texts, the second of which begins inside its second pass.
StepPlan plan_of_texts() {
  return {.tokens = {5, 6, 7},
          .positions = {0, 1, 0},
          .slot_begin = {0, 1, 2, 3},
          .slots = {{1, 0}, {1, 1}, {2, 0}},
          .tasks = {{0, 0, 2, 0, 1}, {0, 2, 3, 1, 1}},
          .task_pages = {1, 2},
          .texts = {{0, 2, 0, 0, 2, 2}, {2, 3, 1, 0, 1, 1}},
          .token_types = {0, 1, 0},
          .outputs = {1},
          .hidden_only = {1}};
}

TEST(StepPlanBytes, TextsAreReadBackAsWritten) {
  const StepPlan plan = plan_of_texts();
  const Result<StepPlan> read = step_plan_from_bytes(to_bytes(plan));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, plan);
}

TEST(StepPlanBytes, TextsDivideTheRows) {
  const auto broken = [](auto&& change) {
    StepPlan plan = plan_of_texts();
    change(plan);
    return error_of(plan);
  };
  for (const std::string& error :
       {broken([](StepPlan& p) { p.texts.pop_back(); }),
        broken([](StepPlan& p) { p.texts[1].row_begin = 1; }),
        broken([](StepPlan& p) { p.texts[1].row_end = 4; }),
        broken([](StepPlan& p) { p.texts[0].end_row = 3; }),
        broken([](StepPlan& p) { p.texts[1].end_row = 0; }),
        broken([](StepPlan& p) { p.texts[0].first_row = 2; }), broken([](StepPlan& p) {
          p.slot_begin = {0, 2, 2, 3};
        })})
    EXPECT_NE(error.find("the texts do not divide the rows"), std::string::npos) << error;
  EXPECT_NE(broken([](StepPlan& p) { p.token_types.pop_back(); }).find("token types"),
            std::string::npos);
}

TEST(StepPlanBytes, TheFormatIsFixed) {
  const StepPlan plan{.tokens = {-1}, .positions = {9}, .slot_begin = {0, 0}, .outputs = {0}};
  const std::vector<uint32_t> expected = {0x4e414c50, 1, 4, 1, 1, 0xffffffff, 2, 1,
                                          9,          3, 2, 0, 0, 8,          1, 0};
  EXPECT_EQ(words_of(plan), expected);
}

TEST(StepPlanBytes, EveryCutIsRefused) {
  const std::vector<std::byte> bytes = to_bytes(small_plan());
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(step_plan_from_bytes(std::span(bytes).first(n))) << n;
}

TEST(StepPlanBytes, OtherBytesAreRefused) {
  std::vector<uint32_t> words = words_of(small_plan());
  words[0] = 1;
  EXPECT_NE(error_of(words).find("begins with 0x1"), std::string::npos);
  words = words_of(small_plan());
  words[1] = 2;
  EXPECT_NE(error_of(words).find("version 2"), std::string::npos);
  words = words_of(small_plan());
  words[3] = 99;  // the id of the first section: a list that this version does not have
  EXPECT_NE(error_of(words).find("section 99"), std::string::npos);
  words = words_of(small_plan());
  words.push_back(0);
  EXPECT_NE(error_of(words).find("after the last section"), std::string::npos);
  words = words_of(small_plan());
  words[8] = 1;  // the second section once more as the first
  EXPECT_NE(error_of(words).find("section 1"), std::string::npos);
}

TEST(StepPlanBytes, PlansThatAreNotSoundAreRefused) {
  const auto broken = [](auto&& change) {
    StepPlan plan = small_plan();
    change(plan);
    return error_of(plan);
  };
  EXPECT_NE(broken([](StepPlan& p) { p.positions.pop_back(); }).find("positions"),
            std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) {
              p.slot_begin = {0, 3, 2, 3};
            }).find("slot_begin"),
            std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.slots.pop_back(); }).find("slot_begin"), std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.tasks[0].row_end = 4; }).find("a task"), std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.tasks[0].n_pages = 2; }).find("a task"), std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.tasks[0].first_page = UINT32_MAX; }).find("a task"),
            std::string::npos);
  const auto with_states = [&](std::vector<StateWrite> writes) {
    return broken([&](StepPlan& p) {
      p.state_tasks = {{0, 2, kNoStateSlot}, {2, 3, 5}};
      p.state_writes = std::move(writes);
    });
  };
  EXPECT_EQ(with_states({{0, 5}, {2, 6}}), "");
  EXPECT_NE(with_states({{2, 5}, {0, 6}}).find("state writes"), std::string::npos);
  EXPECT_NE(with_states({{0, 5}, {0, 6}}).find("state writes"), std::string::npos);
  EXPECT_NE(with_states({{3, 5}}).find("state writes"), std::string::npos);
  EXPECT_NE(with_states({{0, 5}, {2, kNoStateSlot}}).find("no slot"), std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.outputs = {2, 1}; }).find("outputs"), std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.outputs = {1, 1}; }).find("outputs"), std::string::npos);
  EXPECT_NE(broken([](StepPlan& p) { p.outputs = {3}; }).find("outputs"), std::string::npos);
  for (const std::vector<uint32_t>& rows : {std::vector<uint32_t>{0}, {2, 1}, {1, 1}})
    EXPECT_NE(broken([&](StepPlan& p) { p.hidden_only = rows; }).find("without logits"),
              std::string::npos);
}

}  // namespace
}  // namespace pando
