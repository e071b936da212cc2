// Relevance against the scores of continuations, one pair at a time.
#include "pando/rerank.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/tiny_engine.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

const std::vector<std::string> kDocuments = {"An aspen grove is one tree.", "Oaks stand alone.",
                                             "An aspen grove is large.", "Oaks stand alone."};
const std::string kQuery = "What is an aspen grove?";

std::vector<double> reranked(Engine& engine, const std::string& query,
                             const std::vector<std::string>& documents,
                             const RerankOptions& options = {}) {
  const auto scores = rerank(engine, query, documents, options);
  if (!scores) throw std::runtime_error(scores.error().message());
  return *scores;
}

TEST(Rerank, IsTheShareOfYes) {
  RerankOptions options;
  options.instruction = "Look";
  options.prompt_template = "{instruction}|{query}|{document}:";
  const auto scores = reranked(*open_tiny(), kQuery, kDocuments, options);
  for (size_t i = 0; i < kDocuments.size(); ++i) {
    const auto of =
        score(*open_tiny(), fmt::format("Look|{}|{}:", kQuery, kDocuments[i]), {"yes", "no"});
    ASSERT_TRUE(of.ok());
    const double yes = std::exp((*of)[0].logprob), no = std::exp((*of)[1].logprob);
    EXPECT_NEAR(scores[i], yes / (yes + no), 1e-12);
  }
  EXPECT_EQ(scores[1], scores[3]);
}

TEST(Rerank, TheMassIsOfBothAnswers) {
  RerankOptions options;
  options.instruction = "Look";
  options.prompt_template = "{instruction}|{query}|{document}:";
  const std::unique_ptr<Engine> engine = open_tiny();
  auto requests = rerank_requests(engine->model(), options, kQuery, kDocuments[0]);
  ASSERT_TRUE(requests.ok()) << requests.error().message();
  const auto completions = engine->complete_all(std::move(*requests));
  ASSERT_TRUE(completions.ok()) << completions.error().message();
  const auto of =
      score(*open_tiny(), fmt::format("Look|{}|{}:", kQuery, kDocuments[0]), {"yes", "no"});
  ASSERT_TRUE(of.ok());
  const std::vector<PairScore> found = pair_scores(options, *completions);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].relevance, share_of_yes((*of)[0].logprob, (*of)[1].logprob));
  EXPECT_DOUBLE_EQ(found[0].mass.value(), std::exp((*of)[0].logprob) + std::exp((*of)[1].logprob));
}

TEST(Rerank, ABatchIsASingleOneToTheBitInBothOrders) {
  RerankOptions documents_first;
  documents_first.prompt_template = "Document: {document}\nQuery: {query}\nRelevant? ";
  for (const RerankOptions& options : {RerankOptions(), documents_first}) {
    const auto together = reranked(*open_tiny(), kQuery, kDocuments, options);
    for (size_t i = 0; i < kDocuments.size(); ++i)
      EXPECT_EQ(reranked(*open_tiny(), kQuery, {kDocuments[i]}, options)[0], together[i]);
  }
}

TEST(Rerank, SharesTheQueryOrTheDocument) {
  const RerankOptions options{.prompt_template = "{document}|{query}:", .yes = "y", .no = "n"};
  const std::unique_ptr<Engine> engine = open_tiny();
  reranked(*engine, "first query", {"a document of some length"}, options);
  const EngineStats before = engine->stats();
  reranked(*engine, "second query", {"a document of some length"}, options);
  const EngineStats after = engine->stats().since(before);
  EXPECT_EQ(after.prefill_rows, std::string("second query:").size());
}

TEST(Rerank, APromptThatSharesNothingIsComputedOnce) {
  const RerankOptions options{.prompt_template = "{document}|{query}:", .yes = "y", .no = "n"};
  EngineOptions packed = tiny_options();
  packed.sharing = "packed";
  const std::unique_ptr<Engine> engine = open_tiny(packed);
  EXPECT_EQ(reranked(*engine, kQuery, kDocuments, options),
            reranked(*open_tiny(), kQuery, kDocuments, options));
  size_t n_tokens = 0;
  for (const std::string& document : kDocuments)
    n_tokens += rerank_prompt(options, kQuery, document).size();
  EXPECT_EQ(engine->stats().prefill_rows, n_tokens);
}

TEST(Rerank, RanksTheHighestFirstAndTheFirstAmongEquals) {
  EXPECT_EQ(ranking(std::vector{0.1, 0.9, 0.5, 0.9}), (std::vector<size_t>{1, 3, 2, 0}));
  EXPECT_TRUE(ranking({}).empty());
}

TEST(Rerank, ATemplateHasBoth) {
  RerankOptions options;
  options.prompt_template = "{query}";
  const auto scores = rerank(*open_tiny(), kQuery, kDocuments, options);
  ASSERT_FALSE(scores.ok());
  EXPECT_EQ(scores.error().message(), "the template has no {document} in it");
  options.prompt_template = "{query} {document} {documents}";
  EXPECT_TRUE(check_rerank_options(options).ok());
}

TEST(Rerank, YesAndNoAreTwoAnswers) {
  const auto scores = rerank(*open_tiny(), kQuery, kDocuments, {.yes = "X", .no = "X"});
  ASSERT_FALSE(scores.ok());
  EXPECT_EQ(scores.error().message(),
            "yes is 'X' and no is 'X', which have the same tokens, expected different tokens");
}

}  // namespace
}  // namespace pando::testing
