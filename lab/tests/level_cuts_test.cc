#include "lab/techniques/level_cuts.h"

#include <gtest/gtest.h>

#include "cache/kv_cache.h"

namespace pando::lab {
namespace {

class Tree {
 public:
  Node* add(const std::vector<Token>& tokens, uint64_t key = 0) {
    return cache_.acquire(key, tokens);
  }

 private:
  PagePool pool_{64};
  KvCache cache_{pool_, 4};
};

TEST(LevelCuts, InstructionDocumentsAndQuestions) {
  Tree tree;
  std::vector<Node*> tips;
  // Two documents behind one instruction; two questions of the first begin alike.
  for (const std::vector<Token>& question : {std::vector<Token>{1, 2}, {1, 3}, {4}}) {
    std::vector<Token> tokens{9, 9, 10, 11, 12, 13, 14};
    tokens.insert(tokens.end(), question.begin(), question.end());
    tips.push_back(tree.add(tokens));
  }
  tips.push_back(tree.add({9, 9, 20, 21, 22, 1}));
  tips.push_back(tree.add({9, 9, 20, 21, 22, 2}));
  const LevelCuts cuts = level_cuts(tips);
  ASSERT_EQ(cuts.instructions.size(), 1u);
  EXPECT_EQ((*cuts.instructions.begin())->end(), 2u);
  std::multiset<uint32_t> ends;
  for (const Node* node : cuts.contexts) ends.insert(node->end());
  EXPECT_EQ(ends, (std::multiset<uint32_t>{5, 7}));
}

TEST(LevelCuts, OneDocumentIsTheInstruction) {
  Tree tree;
  const std::vector<Node*> tips{tree.add({1, 2, 3, 4}), tree.add({1, 2, 3, 5})};
  const LevelCuts cuts = level_cuts(tips);
  ASSERT_EQ(cuts.instructions.size(), 1u);
  EXPECT_EQ((*cuts.instructions.begin())->end(), 3u);
  EXPECT_TRUE(cuts.contexts.empty());
}

TEST(LevelCuts, NothingShared) {
  Tree tree;
  EXPECT_TRUE(level_cuts(std::vector<Node*>{tree.add({1, 2})}).instructions.empty());
  const LevelCuts cuts = level_cuts(
      std::vector<Node*>{tree.add({1}, 1), tree.add({1}, 2), tree.add({3}, 3), tree.add({4}, 3)});
  EXPECT_TRUE(cuts.instructions.empty());
  EXPECT_TRUE(cuts.contexts.empty());
}

// The larger saving wins: two short documents of their own, not the few tokens that both share.
TEST(LevelCuts, DocumentsThatBeginAlike) {
  Tree tree;
  std::vector<Node*> tips{tree.add({5, 6})};
  for (const Token document : {1, 2})
    for (const Token question : {7, 8, 9}) {
      std::vector<Token> tokens{3};
      tokens.insert(tokens.end(), 20, document);
      tokens.push_back(question);
      tips.push_back(tree.add(tokens));
    }
  const LevelCuts cuts = level_cuts(tips);
  EXPECT_TRUE(cuts.instructions.empty());
  ASSERT_EQ(cuts.contexts.size(), 2u);
  for (const Node* node : cuts.contexts) EXPECT_EQ(node->end(), 21u);
}

}  // namespace
}  // namespace pando::lab
