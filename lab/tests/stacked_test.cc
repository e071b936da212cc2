// IPPD's stacked prompt: groups, masks, positions, pads, and what is kept between batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <span>

#include "cache/kv_cache.h"
#include "lab/techniques/masked_pass.h"
#include "lab/techniques/pass_executor.h"
#include "lab/techniques/prompt_groups.h"
#include "lab/techniques/stack.h"
#include "lab/tests/technique_testing.h"
#include "plan/planner.h"

namespace pando::lab {
namespace {

using Tokens = std::vector<Token>;

PromptGroups groups_of(const std::vector<Tokens>& prompts) {
  return group_prompts(std::vector<std::span<const Token>>(prompts.begin(), prompts.end()));
}

// Prompts of the paper's figure 2: an instruction, two contexts, two questions each.
const std::vector<Tokens> kPrompts = {
    {1, 10, 11, 12, 20}, {1, 10, 11, 12, 21, 22}, {1, 15, 16, 20}, {1, 15, 16, 23}};

TEST(PromptGroups, InstructionContextsQuestions) {
  const PromptGroups groups = groups_of(kPrompts);
  EXPECT_EQ(groups.instruction_len, 1u);
  ASSERT_EQ(groups.groups.size(), 2u);
  EXPECT_EQ(groups.groups[0].context_len, 3u);
  EXPECT_EQ(groups.groups[0].prompts, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(groups.groups[1].context_len, 2u);
}

TEST(PromptGroups, EveryPromptKeepsATokenOfItsOwn) {
  const PromptGroups equal = groups_of({{5, 6, 7}, {5, 6, 7}, {5, 6}});
  EXPECT_EQ(equal.instruction_len, 1u);
  ASSERT_EQ(equal.groups.size(), 2u);
  EXPECT_EQ(equal.groups[0].prompts, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(equal.groups[0].context_len, 1u);
  EXPECT_EQ(equal.groups[1].context_len, 0u);
  const PromptGroups only_equal = groups_of({{5, 6, 7}, {5, 6, 7}});
  ASSERT_EQ(only_equal.groups.size(), 1u);
  EXPECT_EQ(only_equal.instruction_len + only_equal.groups[0].context_len, 2u);
  const PromptGroups one = groups_of({{9}});
  ASSERT_EQ(one.groups.size(), 1u);
  EXPECT_EQ(one.instruction_len + one.groups[0].context_len, 0u);
}

// Questions that begin alike, or are equal, do not make an instruction of their document.
TEST(PromptGroups, OneDocumentIsOneContext) {
  const PromptGroups groups = groups_of(
      {{5, 6, 7, 8, 9, 1, 2}, {5, 6, 7, 8, 9, 1, 3}, {5, 6, 7, 8, 9, 4}, {5, 6, 7, 8, 9, 4}});
  EXPECT_EQ(groups.instruction_len, 0u);
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].context_len, 5u);
  EXPECT_EQ(groups.groups[0].prompts.size(), 4u);
}

// An instruction that is most of all prompts, a hundredth of NarrativeQA's tokens, and contexts of
// four questions each that save rows.
TEST(PromptGroups, ALongInstructionStaysOne) {
  std::vector<Tokens> prompts;
  for (Token context = 0; context < 6; ++context)
    for (Token question = 0; question < 4; ++question) {
      Tokens& prompt = prompts.emplace_back(27, 5);
      prompt.insert(prompt.end(), 7, 10 + context);
      prompt.push_back(20 + question);
    }
  const PromptGroups groups = groups_of(prompts);
  EXPECT_EQ(groups.instruction_len, 27u);
  ASSERT_EQ(groups.groups.size(), 6u);
  EXPECT_EQ(groups.groups[5].context_len, 7u);
  EXPECT_EQ(groups.groups[5].prompts, (std::vector<uint32_t>{20, 21, 22, 23}));
}

TEST(PromptGroups, NothingShared) {
  const PromptGroups groups = groups_of({{1, 2}, {3, 4}, {5}});
  EXPECT_EQ(groups.groups.size(), 3u);
  EXPECT_EQ(groups.instruction_len, 0u);
}

// A token sees what it would see if its question were asked alone: equations 6 to 10, and 13.
TEST(StackCells, SeesItsOwnPastOnly) {
  StackCells cells;
  struct Cell {
    int context, question, pos;
  };
  std::vector<Cell> own;
  const auto add = [&](int pos, int context, int question) {
    own.push_back({context, question, pos});
    cells.add(pos, context, question);
  };
  add(0, 0, 0);
  for (int context : {1, 2}) {
    for (int i = 1; i < 4; ++i) add(i, context, 0);
    for (int question : {1, 2})
      for (int i = 4; i < 6; ++i) add(i, context, question);
  }
  add(6, 2, 1);
  add(6, 1, 2);
  cells.add_pad();
  add(7, 2, 1);
  for (uint32_t query = 0; query + 1 < cells.size(); ++query) {
    if (cells.position[query] == StackCells::kBeyond) continue;
    std::vector<uint64_t> mask;
    cells.append_mask(query, 8, mask);
    ASSERT_EQ(mask.size(), 3u);
    for (uint32_t key = 0; key < cells.size(); ++key) {
      bool expected = false;
      if (cells.position[key] != StackCells::kBeyond) {
        const bool later = key > 17;  // past the pad
        const Cell q = own[query - (query > 17)], k = own[key - later];
        expected = k.pos <= q.pos && (k.context == 0 || k.context == q.context) &&
                   (k.question == 0 || (k.question == q.question && k.context == q.context));
      }
      ASSERT_EQ((mask[key / 8] >> key % 8 & 1) != 0, expected) << query << " " << key;
    }
  }
}

constexpr int kTile = 8, kPage = 4, kLongestAnswer = 5;
constexpr kernel::KvShape kShape{
    .type = DType::kF32, .n_layers = 1, .n_kv_heads = 1, .head_dim = 4, .page_len = kPage};

Technique stacked(const char* sharing, size_t n_pages) {
  Technique technique = technique_named(sharing, kTile);
  dynamic_cast<KvStore&>(*technique.planner)
      .open({.shape = kShape, .n_heads = 1, .n_threads = 1, .row_products = 1e4},
            kShape.page_bytes() * n_pages);
  return technique;
}

// How many of those that wait start together.
size_t batch_of(const Technique& technique, const std::vector<WaitingPrompt>& waiting) {
  return technique.batcher->sight({.n_running = 0, .waiting = [&] { return waiting; }}).n_waiting;
}

// Prompts through the planner, answers of given lengths.
class Stacks {
 public:
  explicit Stacks(const char* sharing, size_t n_pages = 200)
      : technique_(stacked(sharing, n_pages)) {}

  // The plan of the prefill of those that the planner takes together: all of them, unless `n_taken`
  // asks how many.
  PlannedStep prefill(std::span<const Tokens> prompts, size_t* n_taken = nullptr) {
    for (Node* tip : tips_) {
      cache_.unlock(tip);
      cache_.release_and_drop(tip);
    }
    tips_.clear();
    std::vector<WaitingPrompt> waiting;
    for (const Tokens& prompt : prompts)
      waiting.push_back({prompt, static_cast<uint32_t>(prompt.size()) + kLongestAnswer});
    const size_t n = batch_of(technique_, waiting);
    if (n_taken == nullptr) {
      EXPECT_EQ(n, prompts.size());
    } else {
      *n_taken = n;
    }
    for (const Tokens& prompt : prompts.first(n)) {
      tips_.push_back(cache_.acquire(next_key_++, prompt));
      cache_.lock(tips_.back());
    }
    return plan(tips_);
  }
  // The next tokens of some answers.
  PlannedStep decode(const std::vector<size_t>& which, Token token) {
    std::vector<Node*> tips;
    for (const size_t i : which) tips.push_back(tips_[i] = cache_.extend(tips_[i], token));
    return plan(tips);
  }

  const MaskedRows& masked() const { return planner().masked(); }
  // The step that was planned last does not come to its end.
  void fail() { planner().pass().n_computed = planner().pass().n_planned - 1; }

 private:
  MaskedPlanner& planner() const { return dynamic_cast<MaskedPlanner&>(*technique_.planner); }

  PlannedStep plan(const std::vector<Node*>& tips) {
    std::vector<WantedOutput> wanted;
    for (Node* tip : tips) {
      const Extent extent{tip, tip->size() - tip->n_issued};
      EXPECT_TRUE(cache_.reserve({&extent, 1}));
      wanted.push_back({tip, tip->end() - 1, tip->end()});
    }
    PlannedStep step = planner().plan(cache_, wanted);
    planner().pass().n_computed = planner().pass().n_planned;
    cache_.submit();
    cache_.commit();
    return step;
  }

  Technique technique_;
  PagePool pool_{4096};
  KvCache cache_{pool_, kPage};
  std::vector<Node*> tips_;
  uint64_t next_key_ = 1;
};

TEST(Stacked, AHeaderIsEveryTokenOnce) {
  Stacks stacks("stacked:contexts=2,batch=1");
  const PlannedStep step = stacks.prefill(kPrompts);
  EXPECT_EQ(step.plan.tokens, (Tokens{1, 10, 11, 12, 20, 21, 22, 15, 16, 20, 23}));
  EXPECT_EQ(step.plan.positions, (std::vector<uint32_t>{0, 1, 2, 3, 4, 4, 5, 1, 2, 3, 3}));
  EXPECT_EQ(step.n_pads, 0u);
  std::vector<uint32_t> outputs;
  for (const uint32_t i : step.output_of) outputs.push_back(step.plan.outputs[i]);
  EXPECT_EQ(outputs, (std::vector<uint32_t>{4, 6, 9, 10}));
  ASSERT_EQ(stacks.masked().stacks.size(), 1u);
  EXPECT_EQ(stacks.masked().stacks[0].n_cells, 11u);
}

TEST(Stacked, StacksAreEquallyLongAndTheInstructionIsComputedOnce) {
  Stacks stacks("stacked:contexts=1,batch=2");
  const PlannedStep step = stacks.prefill(kPrompts);
  // The second header is shorter: pads stand behind its instruction, which is copied.
  EXPECT_EQ(step.plan.tokens, (Tokens{1, 10, 11, 12, 20, 21, 22, 0, 0, 15, 16, 20, 23}));
  EXPECT_EQ(step.n_pads, 2u);
  const MaskedRows masked = stacks.masked();
  ASSERT_EQ(masked.stacks.size(), 2u);
  EXPECT_EQ(masked.stacks[0].n_cells, 7u);
  EXPECT_EQ(masked.stacks[1].n_cells, 7u);
  EXPECT_EQ(masked.stacks[1].n_rows(), 6u);
  // Both stacks and the copy that is kept.
  EXPECT_EQ(masked.slot_begin[1], 3u);
  EXPECT_TRUE(masked.copies.empty());

  const PlannedStep next =
      stacks.prefill(std::vector<Tokens>{{1, 30, 31, 32, 7}, {1, 30, 31, 32, 8}});
  EXPECT_EQ(next.plan.tokens, (Tokens{30, 31, 32, 7, 8}));
  ASSERT_EQ(stacks.masked().copies.size(), 1u);
  EXPECT_EQ(stacks.masked().copies[0].n_positions, 1u);
}

// Nothing is there that a pass that failed was to write.
TEST(Stacked, AnAbortedInstructionIsComputedAgain) {
  Stacks stacks("stacked:contexts=1,batch=2");
  EXPECT_EQ(stacks.prefill(kPrompts).plan.tokens[0], 1);
  stacks.fail();
  const PlannedStep again = stacks.prefill(kPrompts);
  EXPECT_EQ(again.plan.tokens[0], 1);
  EXPECT_TRUE(stacks.masked().copies.empty());
  const PlannedStep kept = stacks.prefill(kPrompts);
  EXPECT_EQ(kept.plan.tokens[0], 10);
  EXPECT_EQ(stacks.masked().copies.size(), 2u);
}

// Absolute positions are physical: token t of every answer comes before token t + 1 of any.
// Equation 15 orders answers one behind another, so it gives the same positions only as a set, and
// only once all lengths are known.
TEST(Stacked, AnswersAreAppendedAsTheyCome) {
  Stacks stacks("stacked:contexts=2,batch=1");
  const uint32_t header = stacks.prefill(kPrompts).plan.n_rows();
  const std::vector<uint32_t> lengths{3, 1, 0, 2};
  std::set<uint32_t> cells;
  for (uint32_t t = 1; t <= 3; ++t) {
    std::vector<size_t> live;
    for (size_t i = 0; i < lengths.size(); ++i)
      if (lengths[i] >= t) live.push_back(i);
    const PlannedStep step = stacks.decode(live, 40);
    ASSERT_EQ(step.plan.n_rows(), live.size()) << "answers that end leave";
    for (size_t i = 0; i < live.size(); ++i) {
      const kernel::MaskedStack& stack = stacks.masked().stacks[0];
      const KvSlot slot = stacks.masked().slots[i];
      EXPECT_EQ(step.plan.positions[i], kPrompts[live[i]].size() + t - 1);  // equation 2
      for (uint32_t page = 0; page * kPage < stack.n_cells; ++page)
        if (stacks.masked().pages[page] == slot.page) cells.insert(page * kPage + slot.offset);
    }
  }
  std::set<uint32_t> by_equation;  // (15), whose positions begin with 1, ours with 0
  for (size_t i = 0, before = 0; i < lengths.size(); before += lengths[i++])
    for (uint32_t t = 1; t <= lengths[i]; ++t)
      by_equation.insert(static_cast<uint32_t>(header + before + (t - 1)));
  EXPECT_EQ(cells, by_equation);
}

TEST(Stacked, PadsFillUpToTheStackWithMostAnswers) {
  Stacks stacks("stacked:contexts=1,batch=2");
  stacks.prefill(kPrompts);
  const PlannedStep step = stacks.decode({0, 2, 3}, 40);
  EXPECT_EQ(step.plan.tokens, (Tokens{40, 0, 40, 40}));
  EXPECT_EQ(step.n_pads, 1u);
  EXPECT_EQ(stacks.masked().stacks[0].n_cells, stacks.masked().stacks[1].n_cells);
  // Nobody sees the pad.
  const PlannedStep last = stacks.decode({0}, 41);
  const MaskedRows& masked = stacks.masked();
  const uint32_t pad = masked.stacks[0].n_cells - 2;
  EXPECT_EQ(masked.masks[masked.stacks[0].first_mask + pad / kTile] >> pad % kTile & 1, 0u);
}

TEST(Stacked, BatchesFitIntoMemory) {
  const Technique technique = stacked("stacked", 6);  // 24 cells
  std::vector<WaitingPrompt> waiting;
  for (const Tokens& prompt : kPrompts)
    waiting.push_back({prompt, static_cast<uint32_t>(prompt.size()) + 3});
  EXPECT_EQ(batch_of(technique, waiting), 2u);
  EXPECT_EQ(batch_of(technique, {waiting[0]}), 1u);
}

// A batch groups otherwise than all that wait, and what is kept of an earlier one takes pages too.
TEST(Stacked, EveryBatchHasItsPages) {
  int n_batches = 0, n_shared = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    std::vector<Tokens> prompts;
    size_t longest = 0;
    for (uint32_t n = 2 + below(20); n > 0; --n) {
      Tokens prompt;
      if (!prompts.empty() && below(5) > 0) prompt = prompts[below(prompts.size())];
      prompt.resize(below(static_cast<uint32_t>(prompt.size()) + 1));
      for (uint32_t i = 1 + below(below(4) == 0 ? 40 : 6); i > 0; --i)
        prompt.push_back(static_cast<Token>(below(30)));
      longest = std::max(longest, prompt.size());
      prompts.push_back(prompt);
    }
    const size_t least = (longest + kLongestAnswer + kPage - 1) / kPage;
    const char* const names[] = {"stacked", "stacked:contexts=1", "stacked:contexts=2,batch=2"};
    Stacks stacks(names[seed % 3], least + below(10));
    size_t n = 0;
    for (std::span<const Tokens> left = prompts; !left.empty(); left = left.subspan(n)) {
      ASSERT_NO_THROW(stacks.prefill(left, &n)) << seed;
      ++n_batches;
      n_shared += n > 1;
      std::vector<size_t> all(n);
      std::iota(all.begin(), all.end(), 0);
      for (int i = 1; i < kLongestAnswer; ++i) ASSERT_NO_THROW(stacks.decode(all, 40)) << seed;
    }
  }
  EXPECT_GT(n_shared, n_batches / 4);
}

}  // namespace
}  // namespace pando::lab
