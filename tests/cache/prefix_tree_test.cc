#include "cache/prefix_tree.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace pando {
namespace {

using Tokens = std::vector<Token>;

class PrefixTreeTest : public ::testing::Test {
 protected:
  ~PrefixTreeTest() override { tree_.check_invariants(); }

  Node* acquire(const Tokens& tokens, uint64_t key = 0) {
    Node* tip = tree_.acquire(key, tokens);
    EXPECT_EQ(tokens_of(tip), tokens);
    tree_.check_invariants();
    return tip;
  }
  Tokens tokens_of(Node* tip) const {
    Tokens tokens;
    for (const Node* node : path_to(tip))
      tokens.insert(tokens.end(), node->tokens.begin(), node->tokens.end());
    return tokens;
  }
  void compute(Node* node, uint32_t n) {
    tree_.issue(node, n);
    submit_and_commit();
    tree_.check_invariants();
  }
  void submit_and_commit() {
    tree_.submit();
    tree_.commit();
  }

  int n_splits_ = 0;
  PrefixTree tree_{[this](Node& upper, Node& lower) {
    ++n_splits_;
    EXPECT_EQ(lower.parent, &upper);
    EXPECT_EQ(lower.start, upper.end());
    EXPECT_EQ(upper.children.size(), 1u);
  }};
};

// A forgotten token is computed again as long as a sequence needs it.
TEST_F(PrefixTreeTest, KnowsWhatWasComputedBefore) {
  const auto again = [&](Node* node, uint32_t n) {
    tree_.issue(node, n);
    const uint64_t n_again = tree_.n_issued_again();
    submit_and_commit();
    tree_.check_invariants();
    return n_again;
  };
  Node* tip = acquire({1, 2, 3, 4, 5});
  EXPECT_EQ(again(tip, 4), 0u);
  tree_.forget_after(tip, 1);
  EXPECT_EQ(again(tip, 2), 2u);
  tree_.forget_after(tip, 0);
  Node* other = acquire({1, 2, 9});  // parts the node
  EXPECT_EQ(again(other->parent, 2), 2u);
  EXPECT_EQ(again(other, 1), 0u);
  EXPECT_EQ(again(tip, 3), 2u) << "3 and 4, not 5";
  tree_.forget_after(tip, 0);
  tree_.release(tip);
  tip = acquire({1, 2, 3, 4, 5});
  EXPECT_EQ(again(tip, 3), 0u) << "nobody needed them meanwhile";
  tree_.forget_after(tip, 0);
  tree_.forget_after(other, 0);
  tree_.release(tip);
  tree_.release(other);
}

TEST_F(PrefixTreeTest, WhatIsInFlightIsNotComputedAgain) {
  Node* tip = acquire({1, 2, 3});
  compute(tip, 2);
  tree_.forget_after(tip, 0);
  for (const uint64_t n_again : {1, 1, 0}) {
    tree_.issue(tip, 1);
    EXPECT_EQ(tree_.n_issued_again(), n_again);
    tree_.submit();
  }
  for (int i = 0; i < 3; ++i) tree_.commit();
  tree_.release(tip);
}

// Public tokens are one path for all keys; each key has its own path behind them.
TEST_F(PrefixTreeTest, PublicBeginnings) {
  const auto acquire = [&](uint64_t key, const Tokens& tokens, uint32_t n_public) {
    Node* tip = tree_.acquire(key, tokens, n_public);
    EXPECT_EQ(tokens_of(tip), tokens);
    tree_.check_invariants();
    return tip;
  };
  Node* one = acquire(1, {5, 6, 7, 8}, 2);
  Node* two = acquire(2, {5, 6, 7, 8}, 2);
  EXPECT_NE(one, two);
  ASSERT_EQ(one->parent, two->parent);
  EXPECT_EQ(one->parent->size(), 2u);
  EXPECT_EQ(acquire(1, {5, 6, 7, 8}, 2), one);
  EXPECT_NE(acquire(1, {5, 6, 7, 8}, 0), one) << "without it a root of its own";
  // A longer one, and a shorter.
  Node* longer = acquire(3, {5, 6, 7, 8}, 3);
  EXPECT_EQ(longer->parent->parent, one->parent);
  EXPECT_EQ(longer->start, 3u);
  Node* shorter = acquire(3, {5, 6, 7, 8}, 1);
  EXPECT_EQ(shorter->start, 1u);
  EXPECT_EQ(shorter->parent, one->parent->parent);
  EXPECT_NE(acquire(4, {5, 6, 7, 8}, 1), shorter);
  // Answers go on behind their own prompts.
  for (Node* tip : {one, two}) tree_.lock(tip);
  Node* next = tree_.extend(two, 9);
  tree_.check_invariants();
  EXPECT_EQ(tokens_of(next), (Tokens{5, 6, 7, 8, 9}));
  EXPECT_EQ(tokens_of(one), (Tokens{5, 6, 7, 8}));
  EXPECT_EQ(acquire(1, {5, 6, 7, 8, 9}, 2)->parent, one);
}

TEST_F(PrefixTreeTest, SplitsAtEveryPlace) {
  for (uint32_t n = 1; n < 6; ++n) {
    const uint64_t key = n;
    Node* whole = acquire({1, 2, 3, 4, 5, 6}, key);
    Tokens other(whole->tokens.begin(), whole->tokens.begin() + n);
    other.push_back(9);
    Node* branch = acquire(other, key);
    ASSERT_EQ(n_splits_, static_cast<int>(n));
    EXPECT_EQ(branch->parent, whole->parent);
    EXPECT_EQ(whole->start, n);
    EXPECT_EQ(whole->size(), 6 - n);
    EXPECT_EQ(branch->start, n);
    EXPECT_EQ(whole->parent->n_pins, 2u);
    EXPECT_EQ(whole->n_pins, 1u);
    EXPECT_EQ(tokens_of(whole), (Tokens{1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(PrefixTreeTest, ExactDuplicatesShareTheTip) {
  Node* first = acquire({1, 2, 3});
  EXPECT_EQ(acquire({1, 2, 3}), first);
  EXPECT_EQ(first->n_pins, 2u);
  EXPECT_EQ(tree_.n_nodes(), 1u);
  EXPECT_EQ(n_splits_, 0);
}

TEST_F(PrefixTreeTest, PrefixOfAnotherEndsAtANodeOfItsOwn) {
  Node* longer = acquire({1, 2, 3, 4});
  Node* shorter = acquire({1, 2});
  EXPECT_EQ(longer->parent, shorter);
  EXPECT_EQ(shorter->n_pins, 2u);
  Node* longest = acquire({1, 2, 3, 4, 5});
  EXPECT_EQ(longest->parent, longer);
  EXPECT_EQ(tree_.n_nodes(), 3u);
}

TEST_F(PrefixTreeTest, IsolationKeysShareNothing) {
  Node* a = acquire({1, 2, 3}, 1);
  Node* b = acquire({1, 2, 3}, 2);
  EXPECT_NE(a, b);
  EXPECT_EQ(a->n_pins, 1u);
  tree_.release(a);
  EXPECT_EQ(tree_.n_nodes(), 1u);
}

TEST_F(PrefixTreeTest, AcquireNeedsTokens) { EXPECT_THROW(tree_.acquire(0, {}), BugError); }

TEST_F(PrefixTreeTest, ExtendsAPrivateLeafInPlace) {
  Node* tip = acquire({1, 2});
  tree_.lock(tip);
  EXPECT_EQ(tree_.extend(tip, 3), tip);
  EXPECT_EQ(tokens_of(tip), (Tokens{1, 2, 3}));
  EXPECT_EQ(tree_.n_nodes(), 1u);
}

TEST_F(PrefixTreeTest, ExtendsASharedTipByANewChild) {
  Node* tip = acquire({1, 2});
  acquire({1, 2});
  tree_.lock(tip);
  Node* next = tree_.extend(tip, 3);
  EXPECT_EQ(next->parent, tip);
  EXPECT_EQ(next->n_pins, 1u);
  EXPECT_EQ(next->n_locks, 1u);
  EXPECT_EQ(tip->n_pins, 2u);
  EXPECT_EQ(tip->n_locks, 1u);
  tree_.unlock(next);
  EXPECT_EQ(tip->n_locks, 0u);
}

TEST_F(PrefixTreeTest, ExtendsIntoAnExistingChild) {
  Node* other = acquire({1, 2, 3, 4, 5});
  Node* tip = acquire({1, 2});
  tree_.lock(tip);
  Node* next = tree_.extend(tip, 3);
  EXPECT_EQ(next->parent, tip);
  EXPECT_EQ(next->size(), 1u);
  EXPECT_EQ(next->n_pins, 2u);
  EXPECT_EQ(next->n_locks, 1u);
  EXPECT_EQ(other->parent, next);
  EXPECT_EQ(other->n_locks, 0u);
  Node* last = tree_.extend(next, 4);
  EXPECT_EQ(last->size(), 1u);
  EXPECT_EQ(tree_.extend(last, 5), other);
  EXPECT_EQ(other->n_pins, 2u);
}

TEST_F(PrefixTreeTest, ReleaseForgetsWhatIsNotCommitted) {
  Node* tip = acquire({1, 2, 3, 4});
  compute(tip, 3);
  tree_.release(tip);
  tree_.check_invariants();
  ASSERT_EQ(tree_.n_nodes(), 1u);
  EXPECT_EQ(tree_.nodes()[0]->tokens, (Tokens{1, 2, 3}));
  EXPECT_EQ(acquire({1, 2, 3}), tip);
  tree_.release(tip);
  tree_.forget_after(tip, 0);
  EXPECT_EQ(tree_.n_nodes(), 0u);
}

TEST_F(PrefixTreeTest, ReleaseForgetsUpToTheFirstNodeThatIsNeeded) {
  Node* a = acquire({1, 2, 3, 4});
  Node* b = acquire({1, 2, 5});
  tree_.release(a);
  tree_.check_invariants();
  EXPECT_EQ(tree_.n_nodes(), 2u);
  EXPECT_EQ(tokens_of(b), (Tokens{1, 2, 5}));
  tree_.release(b);
  EXPECT_EQ(tree_.n_nodes(), 0u);
}

TEST_F(PrefixTreeTest, IssuedTokensOutliveTheirSequence) {
  Node* tip = acquire({1, 2, 3, 4});
  tree_.issue(tip, 2);
  tree_.release(tip);
  tree_.check_invariants();
  ASSERT_EQ(tree_.n_nodes(), 1u);
  EXPECT_EQ(tip->tokens, (Tokens{1, 2}));
  submit_and_commit();
  EXPECT_EQ(tip->n_committed, 2u);
}

TEST_F(PrefixTreeTest, AbortForgetsWhatNobodyPinsAnyMore) {
  Node* lower = acquire({1, 2, 3, 4});
  Node* upper = acquire({1, 2});
  tree_.issue(upper, 2);
  tree_.issue(lower, 1);
  tree_.release(lower);
  tree_.release(upper);
  EXPECT_EQ(tree_.n_nodes(), 2u);
  tree_.abort();
  tree_.check_invariants();
  EXPECT_EQ(tree_.n_nodes(), 0u);
}

TEST_F(PrefixTreeTest, AbortKeepsWhatWasCommittedBefore) {
  Node* tip = acquire({1, 2, 3, 4});
  compute(tip, 1);
  tree_.issue(tip, 2);
  tree_.release(tip);
  tree_.abort();
  tree_.check_invariants();
  ASSERT_EQ(tree_.n_nodes(), 1u);
  EXPECT_EQ(tip->tokens, (Tokens{1}));
}

TEST_F(PrefixTreeTest, SplitWhileIssuedKeepsBothParts) {
  for (const uint32_t n_committed : {0u, 2u, 3u}) {
    for (uint32_t n = 1; n < 6; ++n) {
      const uint64_t key = 10 * n_committed + n;
      Node* lower = acquire({1, 2, 3, 4, 5, 6}, key);
      if (n_committed > 0) compute(lower, n_committed);
      tree_.issue(lower, 4 - n_committed);
      Node* upper = acquire(Tokens(lower->tokens.begin(), lower->tokens.begin() + n), key);
      EXPECT_EQ(upper->n_issued, std::min(n, 4u));
      EXPECT_EQ(upper->n_committed, std::min(n, n_committed));
      EXPECT_EQ(upper->n_issued + lower->n_issued, 4u);
      EXPECT_EQ(upper->n_committed + lower->n_committed, n_committed);
      EXPECT_EQ(tree_.issued().size(), (n > n_committed) + (n < 4u));
      submit_and_commit();
      EXPECT_EQ(upper->n_committed + lower->n_committed, 4u);
      tree_.check_invariants();
    }
  }
}

// Three steps compute a node, two tokens each, and one its first child.
TEST_F(PrefixTreeTest, StepsInFlightSurviveASplit) {
  for (uint32_t n_upper = 1; n_upper < 6; ++n_upper) {
    Node* lower = acquire({1, 2, 3, 4, 5, 6}, n_upper);
    for (int step = 0; step < 3; ++step) {
      tree_.issue(lower, 2);
      EXPECT_EQ(lower->n_submitted, 2u * step);
      tree_.submit();
    }
    EXPECT_EQ(tree_.n_in_flight(), 3u);
    Node* child = acquire({1, 2, 3, 4, 5, 6, 7}, n_upper);
    tree_.issue(child, 1);
    Node* upper = acquire(Tokens(lower->tokens.begin(), lower->tokens.begin() + n_upper), n_upper);
    EXPECT_EQ(upper->n_submitted, n_upper);
    EXPECT_EQ(lower->n_submitted, 6 - n_upper);
    for (uint32_t n_committed = 2; n_committed <= 6; n_committed += 2) {
      tree_.commit();
      tree_.check_invariants();
      EXPECT_EQ(upper->n_committed, std::min(n_committed, n_upper));
      EXPECT_EQ(upper->n_committed + lower->n_committed, n_committed);
    }
    EXPECT_EQ(child->n_submitted, 0u);
    submit_and_commit();
    EXPECT_EQ(child->n_committed, 1u);
  }
}

TEST_F(PrefixTreeTest, AStepThatIsNotSubmittedIsAbortedAlone) {
  Node* tip = acquire({1, 2, 3, 4, 5, 6});
  tree_.issue(tip, 2);
  tree_.submit();
  tree_.issue(tip, 3);
  tree_.abort();
  EXPECT_EQ(tip->n_issued, 2u);
  tree_.check_invariants();
  tree_.commit();
  EXPECT_EQ(tip->n_committed, 2u);
}

TEST_F(PrefixTreeTest, AllStepsInFlightAreAborted) {
  Node* tip = acquire({1, 2, 3, 4, 5, 6});
  compute(tip, 1);
  Node* child = acquire({1, 2, 3, 4, 5, 6, 7, 8});
  for (const auto& [node, n] : {std::pair{tip, 2u}, {tip, 3u}, {child, 1u}}) {
    tree_.issue(node, n);
    tree_.submit();
  }
  tree_.issue(child, 1);
  Node* upper = acquire({1, 2});
  tree_.release(child);
  std::vector<const Node*> seen;
  tree_.abort_all([&](Node& node) { seen.push_back(&node); });
  tree_.check_invariants();
  EXPECT_EQ(seen, (std::vector<const Node*>{child, child, tip, upper})) << "once for each abort";
  EXPECT_EQ(tree_.n_in_flight(), 0u);
  EXPECT_EQ(tree_.n_nodes(), 2u) << "nobody pins the child";
  EXPECT_EQ(upper->n_issued, 1u);
  EXPECT_EQ(upper->n_committed, 1u);
  EXPECT_EQ(tip->n_issued, 0u);
}

TEST_F(PrefixTreeTest, IssueBeyondTheNodeIsABug) {
  Node* tip = acquire({1, 2});
  EXPECT_THROW(tree_.issue(tip, 3), BugError);
  EXPECT_THROW(tree_.issue(tip, 0), BugError);
}

// Two sequences that extend by the same tokens in turn make one node per token.
TEST_F(PrefixTreeTest, DeepChainsNeedNoStack) {
  constexpr int kDepth = 200'000;
  for (const bool release : {true, false}) {
    Node* a = acquire({7}, release);
    Node* b = acquire({7}, release);
    tree_.lock(a);
    tree_.lock(b);
    for (int i = 1; i < kDepth; ++i) {
      a = tree_.extend(a, i % 3);
      b = tree_.extend(b, i % 3);
      ASSERT_EQ(a, b);
    }
    EXPECT_EQ(tree_.n_nodes(), static_cast<size_t>(kDepth));
    tree_.check_invariants();
    if (!release) break;  // the destructor takes it apart
    for (Node* tip : {a, b}) {
      tree_.unlock(tip);
      tree_.release(tip);
    }
    EXPECT_EQ(tree_.n_nodes(), 0u);
  }
}

// Forgetting one of many siblings must not look at all of them.
TEST_F(PrefixTreeTest, WideNodesAreTakenApartInLinearTime) {
  constexpr int kWidth = 100'000;
  std::vector<Node*> tips;
  for (Token token = 0; token < kWidth; ++token) tips.push_back(tree_.acquire(0, Tokens{token, 1}));
  for (Node* tip : tips) tree_.release(tip);
  EXPECT_EQ(tree_.n_nodes(), 0u);
}

}  // namespace
}  // namespace pando
