// Documents with facts, how answers about them are counted, and attention's dimensions by formula.
#include "lab/data/demo.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/tokens.h"
#include "lab/papers/attention_dimensions.h"

namespace pando::lab {
namespace {

TEST(NeedlesTest, NamesDiffer) {
  std::set<std::string> names;
  for (uint64_t i = 0; i < 20000; ++i) names.insert(invented_name(i));
  EXPECT_EQ(names.size(), 20000u);
  EXPECT_EQ(invented_name(7), invented_name(7));
}

TEST(NeedlesTest, DocumentsHoldTheirFactsAndAreAsLongAsAsked) {
  const auto model = Model::load(PANDO_SOURCE_DIR "/models/demo", {.weights = WeightType::kNone});
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto documents = needle_documents(**model, demo_filler(100), 2, 600, 6);
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_NE(documents[0].text, documents[1].text);
  for (const QaDocument& document : documents) {
    ASSERT_EQ(document.questions.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const std::string& question = document.questions[i];
      const size_t at = question.rfind(' ') + 1;
      const std::string name = question.substr(at, question.size() - at - 1);
      EXPECT_NE(document.text.find("The dog named " + name + " has fur that is " +
                                   document.answers[i] + "."),
                std::string::npos);
    }
    const size_t n = (*model)->encode(document.text)->size();
    EXPECT_LE(n, 600u);
    EXPECT_GT(n, 560u);
  }
}

TEST(NeedlesTest, AnswersAreCounted) {
  const std::vector<QaDocument> documents = {{"", {"?", "?"}, {"red", "null"}}};
  const auto answer = [](std::string text, std::vector<Token> tokens) {
    return std::vector{Completion{.text = std::move(text), .tokens = std::move(tokens)}};
  };
  const Sample one{.completions = {answer(" red.", {1, 2}), answer(" blue", {3})}};
  const Sample other{.completions = {answer(" red.", {1, 2}), answer(" null", {4})}};
  EXPECT_DOUBLE_EQ(scores_of(documents, one).exact_match, 0.5);
  EXPECT_DOUBLE_EQ(scores_of(documents, other).exact_match, 1);
  EXPECT_DOUBLE_EQ(same_answers(one, other), 50);
}

// Two questions of 3 tokens to 10 + 20 others, answers of 4.
TEST(AttentionDimensionsTest, CountPairsOfTable3) {
  const QaShape shape{.instruction = 10, .context = 20, .question = 3, .answer = 4, .questions = 2};
  const AttentionDimensions cached = prefix_cached_dimensions(shape);
  EXPECT_DOUBLE_EQ(cached.decodes, 6);  // three passes for each: one token comes from the prefill
  EXPECT_DOUBLE_EQ(cached.reads, 33 + 33 + 6 * 35);
  EXPECT_DOUBLE_EQ(cached.products, 33 * 33 + 3 * 33 + 6 * 35);
  const AttentionDimensions stacked = stacked_dimensions(shape);
  EXPECT_DOUBLE_EQ(stacked.reads, 36 + 3 * 40);
  EXPECT_DOUBLE_EQ(stacked.products, 36 * 36 + 3 * 2 * 40);
  const AttentionDimensions tree = tree_dimensions(shape);
  EXPECT_DOUBLE_EQ(tree.reads, stacked.reads);
  EXPECT_DOUBLE_EQ(tree.products, 30 * 30 + 2 * 3 * 33 + 6 * 35);
}

// Memory is for the largest repetition, and those far behind the first stop.
TEST(ContestTest, WorkloadsMayGrow) {
  Harness harness("test", {.threads = 1, .model = PANDO_SOURCE_DIR "/models/demo"});
  const auto model = harness.model({});
  const auto make = [&](int repetition) {
    RandomTokens random(static_cast<uint64_t>(repetition), model->info().vocab);
    Workload workload;
    const std::vector<Token> shared = random(repetition == 0 ? 20 : 400);
    for (int i = 0; i < 3; ++i) workload.timed.push_back(request_of(joined(shared, random(4)), 2));
    return workload;
  };
  const std::vector<Contestant> contestants = {
      {.name = "tree", .sharing = "tree", .model = model},
      {.name = "packed", .sharing = "packed", .model = model, .at_most = 2},
      {.name = "none", .sharing = "none", .model = model}};
  const std::vector<Lane> lanes = harness.contest(contestants, make, 2);
  EXPECT_EQ(lanes[0].samples.size(), 2u);
  ASSERT_EQ(lanes[1].samples.size(), 2u);
  EXPECT_EQ(lanes[1].samples[1].completions.size(), 2u);
  EXPECT_TRUE(lanes[2].samples.empty());
  EXPECT_NE(lanes[2].why_not, "");
  const std::vector<Lane> gone = harness.contest(contestants, make, 3, 1e-6);
  EXPECT_EQ(gone[1].samples.size(), 1u);
  ASSERT_EQ(gone[0].samples.size(), 1u);  // far behind itself: what is not counted of others
  EXPECT_EQ(gone[0].samples[0].completions[0][0].prompt_tokens, 24);
  const std::vector<Lane> stopped = harness.contest(contestants, make, 3, 0.5);
  ASSERT_EQ(stopped[0].samples.size(), 1u);  // behind itself, twice
  EXPECT_EQ(stopped[0].samples[0].completions[0][0].prompt_tokens, 404);
}

}  // namespace
}  // namespace pando::lab
