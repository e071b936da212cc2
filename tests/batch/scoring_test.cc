// Scoring counts questions and compares answers of a batch.
#include "batch/scoring.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

using Texts = std::vector<std::string>;

TEST(Scoring, PartsAreOneAnswer) {
  const ScoredAnswer texts = merged({{2, "b"}, {0, "a"}, {1, "b"}}, {});
  EXPECT_EQ(texts.text, "a\nb") << "in the order of the document, each once";
  const Texts choices = {"yes", "no"};
  const ScoredAnswer chosen =
      merged({{0, "no", {-5, -2}}, {1, "yes", {-0.5, -4}}, {2, "no", {-9, -1}}}, choices);
  EXPECT_EQ(chosen.text, "yes");
  EXPECT_EQ(chosen.choice_logprobs, (std::vector<double>{-0.5, -1}));
  EXPECT_EQ(merged({{3, "only"}}, {}).text, "only");
}

// acc and acc_norm of lm-eval: ln p, and ln p for each character of the choice without its space.
TEST(Scoring, AccuracyForEachCharacter) {
  const Texts choices = {" a", " longer one"}, references = {" longer one"};
  const Metrics metrics = metrics_of(ScoredAnswer{0, " a", {-2, -5}}, choices, references);
  EXPECT_EQ(metrics.choice_accuracy, 0);
  EXPECT_EQ(metrics.choice_accuracy_norm, 1) << "-5 / 10 is more than -2 / 1";
  const Metrics other = metrics_of(ScoredAnswer{0, " a", {-0.4, -5}}, choices, references);
  EXPECT_EQ(other.choice_accuracy_norm, 0);
  // Four characters of eight bytes: -24 each, and -13 each of the other's seven.
  const Texts mixed = {"ееее", "abcdefg"}, latin = {"abcdefg"};
  EXPECT_EQ(metrics_of(ScoredAnswer{0, "ееее", {-96, -91}}, mixed, latin).choice_accuracy_norm, 1);
}

BatchSummary ran(const std::string& input, BatchOptions options = {}) {
  std::istringstream in(input);
  std::ostringstream out;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  EXPECT_TRUE(summary.ok()) << summary.error().message();
  return *summary;
}

TEST(Scoring, QuestionsAreCountedOnce) {
  const BatchSummary samples = ran(
      R"({"context": "C", "questions": ["Q", "R"], "n": 3, "temperature": 1}
{"prompt": "P"}
)");
  EXPECT_EQ(samples.answers, 7u);
  EXPECT_EQ(samples.questions, 3u);

  std::string words;
  for (int i = 0; i < 300; ++i) words += fmt::format("{} ", 100 + i);
  BatchOptions split;
  split.too_long = TooLong::kSplit;
  const BatchSummary parts =
      ran(fmt::format(R"({{"context": "{}", "questions": [{{"text": "Q", "answers": ["x"]}},)"
                      R"({{"text": "R", "choices": ["a", "b"], "answers": ["a"]}}]}})"
                      "\n",
                      words),
          split);
  EXPECT_GT(parts.answers, 3u);
  EXPECT_EQ(parts.questions, 2u);
  EXPECT_EQ(parts.scores.all().n, 2u) << "one answer for all parts of the document";
  EXPECT_EQ(parts.scores.all().n_choices, 1u);
}

TEST(Scoring, OfDocumentsEachIsOne) {
  BatchOptions options;
  options.task = BatchTask::kRerank;
  options.rerank.prompt_template = "{document}|{query}:";
  const BatchSummary ranked = ran(R"({"query": "Q", "documents": ["a", "b", "c"]})", options);
  EXPECT_EQ(ranked.questions, 3u);
  EXPECT_GT(ranked.mass_sum, 0);
  EXPECT_LE(ranked.mass_sum, 3);
  EXPECT_LE(3 * ranked.least_mass, ranked.mass_sum);
  EXPECT_EQ(ranked.mean_mass(), ranked.mass_sum / 3);
  EXPECT_FALSE(ran(R"({"prompt": "Q"})", {}).mean_mass());
}

TEST(Scoring, AMassThatUnderflowsIsAMass) {
  BatchSummary summary;
  EXPECT_FALSE(summary.mean_mass());
  summary.n_masses = 2;
  EXPECT_EQ(summary.mean_mass(), 0.0);
}

}  // namespace
}  // namespace pando::testing
