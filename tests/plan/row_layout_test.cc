#include "plan/row_layout.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/check.h"

namespace pando {
namespace {

using Tokens = std::vector<Token>;

WantedOutput last_of(Node* tip) { return {tip, tip->end() - 1, tip->end()}; }

class RowLayoutTest : public ::testing::Test {
 protected:
  Node* locked(const Tokens& tokens) {
    Node* tip = cache_.acquire(0, tokens);
    cache_.lock(tip);
    return tip;
  }
  void reserve(Node* tip) {
    std::vector<Extent> extents;
    for (Node* node : path_to(tip))
      if (node->n_issued < node->size()) extents.push_back({node, node->size() - node->n_issued});
    ASSERT_TRUE(cache_.reserve(extents));
  }
  static std::vector<std::pair<PageId, uint32_t>> slots_of(const StepPlan& plan, uint32_t row) {
    std::vector<std::pair<PageId, uint32_t>> slots;
    for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
      slots.emplace_back(plan.slots[i].page, plan.slots[i].offset);
    return slots;
  }

  PagePool pool_{16};
  KvCache cache_{pool_, 4};
};

TEST_F(RowLayoutTest, SharedTokensAreOneRowAndBranchesFollow) {
  Node* a = locked({1, 2, 3, 4, 5, 6});
  Node* b = locked({1, 2, 3, 4, 5, 7, 8});
  reserve(a);
  reserve(b);
  const RowLayout layout = lay_out_rows(cache_, {last_of(a), last_of(b)});
  const StepPlan& plan = layout.step.plan;
  EXPECT_EQ(plan.tokens, (Tokens{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(plan.positions, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 5, 6}));
  EXPECT_EQ(plan.outputs, (std::vector<uint32_t>{5, 7}));
  EXPECT_EQ(layout.step.output_of, (std::vector<uint32_t>{0, 1}));
  ASSERT_EQ(layout.runs.size(), 3u);
  EXPECT_FALSE(layout.runs[0].continues_previous);
  EXPECT_TRUE(layout.runs[1].continues_previous);
  EXPECT_FALSE(layout.runs[2].continues_previous);
  // Token 5 stands in the page that the branches leave half way: b has a page of its own there.
  const PageId shared = a->parent->pages.ids.back(), own = b->pages.ids.front();
  EXPECT_EQ(slots_of(plan, 4), (std::vector<std::pair<PageId, uint32_t>>{{shared, 0}, {own, 0}}));
  EXPECT_EQ(slots_of(plan, 5), (std::vector<std::pair<PageId, uint32_t>>{{shared, 1}}));
  EXPECT_EQ(slots_of(plan, 6), (std::vector<std::pair<PageId, uint32_t>>{{own, 1}}));
  EXPECT_EQ(slots_of(plan, 0).size(), 1u);
}

TEST_F(RowLayoutTest, EqualPathsShareOneOutput) {
  Node* a = locked({1, 2});
  Node* b = locked({3});
  reserve(a);
  reserve(b);
  const RowLayout layout = lay_out_rows(cache_, {last_of(b), last_of(a), last_of(a), last_of(b)});
  EXPECT_EQ(layout.step.plan.outputs.size(), 2u);
  const std::vector<uint32_t>& of = layout.step.output_of;
  EXPECT_EQ(of[0], of[3]);
  EXPECT_EQ(of[1], of[2]);
  EXPECT_EQ(layout.step.plan.tokens[layout.step.plan.outputs[of[0]]], 3);
  EXPECT_EQ(layout.step.plan.tokens[layout.step.plan.outputs[of[1]]], 2);
}

TEST_F(RowLayoutTest, CachedOutputsAreRecomputedAndWriteNothing) {
  Node* longer = locked({1, 2, 3, 4, 5});
  reserve(longer);
  cache_.submit();
  cache_.commit();
  Node* prefix = locked({1, 2, 3});
  const RowLayout layout =
      lay_out_rows(cache_, {last_of(longer), last_of(prefix), last_of(prefix)});
  const StepPlan& plan = layout.step.plan;
  EXPECT_EQ(plan.tokens, (Tokens{3, 5}));
  EXPECT_EQ(plan.positions, (std::vector<uint32_t>{2, 4}));
  EXPECT_TRUE(plan.slots.empty());
  EXPECT_EQ(layout.step.n_recomputed, 2u);
  EXPECT_EQ(layout.step.output_of, (std::vector<uint32_t>{1, 0, 0}));
  EXPECT_EQ(layout.runs[0].n_pages, 1u);
  EXPECT_EQ(layout.runs[1].n_pages, 2u);
}

TEST_F(RowLayoutTest, OutputsOfManyRowsOfAPath) {
  Node* cached = locked({1, 2, 3, 4, 5});
  reserve(cached);
  cache_.submit();
  cache_.commit();
  Node* other = locked({1, 2, 3, 7});  // splits: 1 2 3 | 4 5, 7
  reserve(other);
  const RowLayout layout =
      lay_out_rows(cache_, {{cached, 1, 4}, {other, 2, 4}, {other, 2, 2}, last_of(cached)});
  const StepPlan& plan = layout.step.plan;
  EXPECT_EQ(plan.tokens, (Tokens{2, 3, 4, 5, 7}));
  EXPECT_EQ(plan.positions, (std::vector<uint32_t>{1, 2, 3, 4, 3}));
  EXPECT_EQ(plan.outputs, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(layout.step.output_of, (std::vector<uint32_t>{0, 1, 2, 1, 4, 3}));
  EXPECT_EQ(layout.step.n_recomputed, 4u);
  EXPECT_EQ(plan.slots.size(), 1u);
}

TEST_F(RowLayoutTest, AChunkHasRowsAndNoOutput) {
  Node* tip = locked({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(cache_.reserve(std::vector<Extent>{{tip, 2}}));
  EXPECT_TRUE(lay_out_rows(cache_, {}).step.plan.outputs.empty());
  EXPECT_THROW(lay_out_rows(cache_, {last_of(tip)}), BugError);
  cache_.submit();
  cache_.commit();
  ASSERT_TRUE(cache_.reserve(std::vector<Extent>{{tip, 3}}));
  const RowLayout layout = lay_out_rows(cache_, {});
  EXPECT_EQ(layout.step.plan.positions, (std::vector<uint32_t>{2, 3, 4}));
  EXPECT_EQ(layout.step.plan.slots[2].page, tip->pages.ids[1]);
  EXPECT_EQ(layout.step.plan.slots[2].offset, 0u);
}

TEST_F(RowLayoutTest, NothingToDoIsAnEmptyPlan) {
  const RowLayout layout = lay_out_rows(cache_, {});
  EXPECT_EQ(layout.step.plan.n_rows(), 0u);
  EXPECT_EQ(layout.step.plan.slot_begin, (std::vector<uint32_t>{0}));
  EXPECT_TRUE(layout.runs.empty());
}

// A path of very many nodes is laid out without recursion.
TEST(RowLayoutDeep, NeedsNoStack) {
  constexpr uint32_t kDepth = 100'000;
  PagePool pool(kDepth);
  KvCache cache(pool, 4);
  Node* a = cache.acquire(0, Tokens{1});
  Node* b = cache.acquire(0, Tokens{1});
  cache.lock(a);
  cache.lock(b);
  std::vector<Extent> extents{{a, 1}};
  for (uint32_t i = 1; i < kDepth; ++i) {
    a = cache.extend(a, 2);
    b = cache.extend(b, 2);
    extents.push_back({a, 1});
  }
  ASSERT_TRUE(cache.reserve(extents));
  EXPECT_EQ(pool.n_free(), kDepth - kDepth / 4);
  cache.submit();
  cache.commit();
  const RowLayout layout = lay_out_rows(cache, {last_of(a)});
  EXPECT_EQ(layout.step.plan.positions, (std::vector<uint32_t>{kDepth - 1}));
  EXPECT_EQ(layout.pages.size(), kDepth / 4);
}

}  // namespace
}  // namespace pando
