// `radix` against `packed` on random steps: the same copies of the same rows, merged where their
// whole pasts are in the step and equal.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lab/techniques/expanded_pass.h"
#include "lab/techniques/static_batcher.h"
#include "lab/tests/beside_packed.h"

namespace pando::lab {
namespace {

class RadixPlans : public BesidePacked {
 public:
  using BesidePacked::BesidePacked;

  int n_merged = 0, n_plain = 0;

 private:
  using Slots = std::multiset<std::pair<PageId, uint32_t>>;
  static Slots slots_of(const StepPlan& plan, uint32_t row) {
    Slots slots;
    for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
      slots.emplace(plan.slots[i].page, plan.slots[i].offset);
    return slots;
  }

  void compare(const PlannedStep& packed, const PlannedStep& radix,
               const RowLayout& layout) override {
    const ExpandedRows& expanded = planner<ExpandedPlanner>().expanded();
    if (expanded.empty()) {
      ++n_plain;
      ASSERT_EQ(radix.plan.tokens, packed.plan.tokens);
      ASSERT_EQ(radix.plan.outputs, packed.plan.outputs);
      return;
    }
    const StepPlan &all = packed.plan, &plan = radix.plan;
    ASSERT_EQ(expanded.scatter.size(), all.n_rows());
    ASSERT_EQ(expanded.gather.size(), plan.n_rows());
    ASSERT_EQ(expanded.positions, all.positions);
    ASSERT_EQ(plan.task_pages, all.task_pages);
    ASSERT_EQ(plan.tasks.size(), all.tasks.size());
    ASSERT_LE(plan.n_rows() - radix.n_pads, all.n_rows());
    n_merged += static_cast<int>(all.n_rows() - (plan.n_rows() - radix.n_pads));

    std::map<uint32_t, Slots> slots;
    for (uint32_t copy = 0; copy < all.n_rows(); ++copy) {
      const uint32_t row = expanded.scatter[copy];
      ASSERT_EQ(plan.tokens.at(row), all.tokens[copy]);
      ASSERT_EQ(plan.positions.at(row), all.positions[copy]);
      slots[row].merge(slots_of(all, copy));
    }
    for (uint32_t row = 0; row < plan.n_rows(); ++row) {
      ASSERT_EQ(slots_of(plan, row), slots[row]);
      ASSERT_TRUE(row >= plan.n_rows() - radix.n_pads ||
                  expanded.scatter[expanded.gather[row]] == row);
    }
    ASSERT_EQ(radix.output_of.size(), packed.output_of.size());
    for (size_t i = 0; i < packed.output_of.size(); ++i)
      ASSERT_EQ(plan.outputs[radix.output_of[i]],
                expanded.scatter[all.outputs[packed.output_of[i]]]);
    check_pasts(all, expanded, layout);
  }

  // Two copies share a row where the paths above both are in the step, whole, and equal.
  void check_pasts(const StepPlan& all, const ExpandedRows& expanded,
                   const RowLayout& layout) const {
    std::set<const Node*> roots;  // of sequences that are still there
    for (const Sequence& sequence : sequences()) roots.insert(root_of(sequence.tip));
    std::map<std::pair<uint64_t, std::vector<Token>>, uint32_t> row_of;
    std::map<uint32_t, int> n_copies;
    for (const uint32_t row : expanded.scatter) ++n_copies[row];
    for (size_t i = 0; i < layout.runs.size();) {
      const uint32_t begin = layout.runs[i].row_begin;
      const Node* root = root_of(layout.runs[i].node);
      do ++i;
      while (i < layout.runs.size() && layout.runs[i].continues_previous);
      const uint32_t end = layout.runs[i - 1].row_end;
      std::vector<Token> past;
      const bool whole = roots.contains(root) && all.positions[begin] == 0 &&
                         all.positions[end - 1] == end - begin - 1;
      for (uint32_t copy = begin; copy < end; ++copy) {
        past.push_back(all.tokens[copy]);
        const uint32_t row = expanded.scatter[copy];
        if (whole) {
          ASSERT_EQ(row_of.try_emplace({root->owner % 2, past}, row).first->second, row);
        } else {
          ASSERT_EQ(n_copies[row], 1);
        }
      }
    }
    std::set<uint32_t> rows;
    for (const auto& [past, row] : row_of)
      ASSERT_TRUE(rows.insert(row).second) << "merged too much";
  }
};

TEST(Radix, MergesWhatIsEqualAndNothingElse) {
  for (const char* sharing : {"radix:threshold=1", "radix:threshold=1,bucket=16"}) {
    RadixPlans plans({.seed = 4, .n_pages = 60, .alphabet = 2, .n_sequences = 12}, sharing);
    plans.run(6000);
    EXPECT_GT(plans.n_merged, 100) << sharing;
  }
}

TEST(Radix, BypassedWhereLittleRepeats) {
  RadixPlans never({.seed = 5, .n_pages = 60, .alphabet = 2}, "radix:threshold=0");
  never.run(2000);
  EXPECT_EQ(never.n_merged, 0);
  EXPECT_GT(never.n_plain, 0);
  RadixPlans seldom({.seed = 5, .n_pages = 60, .alphabet = 50}, "radix");
  seldom.run(2000);
  EXPECT_GT(seldom.n_plain, 0);
  // Filled up, any step has more rows than it has tokens.
  RadixPlans full({.seed = 4, .n_pages = 60, .alphabet = 2}, "radix:bucket=4096");
  full.run(2000);
  EXPECT_EQ(full.n_merged, 0);
  EXPECT_GT(full.n_plain, 0);
}

// Counts two prompts of nine tokens that begin with the same three, and a token of an answer after
// them: in order of its figures.
std::vector<double> counts(const char* sharing, uint64_t other_key = 0) {
  const Technique technique = technique_named(sharing, RadixPlans::kTile);
  PagePool pool(16);
  KvCache cache(pool, 4);
  std::vector<WantedOutput> wanted;
  for (const std::vector<Token>& prompt : {std::vector<Token>{1, 2, 3, 4}, {1, 2, 3, 5, 6}}) {
    Node* tip = cache.acquire(wanted.size(), prompt);  // a tree of its own
    cache.lock(tip);
    const Extent extent{tip, tip->size()};
    EXPECT_TRUE(cache.reserve({&extent, 1}));
    wanted.push_back({tip, tip->end() - 1, tip->end(), wanted.empty() ? 0 : other_key});
  }
  technique.planner->plan(cache, wanted);
  cache.submit();
  cache.commit();
  Node* tip = cache.extend(wanted[0].tip, 7);
  const Extent extent{tip, 1};
  EXPECT_TRUE(cache.reserve({&extent, 1}));
  technique.planner->plan(cache, {{tip, tip->end() - 1, tip->end()}});
  cache.submit();
  cache.commit();
  std::vector<double> values;
  for (const Figure& figure : technique.figures()) values.push_back(figure.value);
  return values;
}

TEST(Radix, CountsBothLayouts) {
  using Counts = std::vector<double>;  // steps with prompts, bypassed, N, N'
  EXPECT_EQ(counts("radix"), (Counts{1, 0, 9, 6}));
  EXPECT_EQ(counts("radix:bucket=4"), (Counts{1, 0, 9, 6})) << "what fills up is no token";
  EXPECT_EQ(counts("radix:threshold=0.6"), (Counts{1, 1, 9, 9})) << "6 / 9 is more";
  EXPECT_EQ(counts("radix", 5), (Counts{1, 1, 9, 9})) << "nothing is shared between keys";
}

TEST(Radix, TakesWholePrompts) {
  const Technique technique = technique_named("radix", RadixPlans::kTile);
  EXPECT_NE(dynamic_cast<StaticBatcher*>(technique.batcher.get()), nullptr);
}

}  // namespace
}  // namespace pando::lab
