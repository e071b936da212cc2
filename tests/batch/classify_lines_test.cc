// Texts too long for a classifier or for the context: some are cut, others fail.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "pando/batch.h"
#include "pando/classify.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;

struct ClassifierRun {
  BatchSummary summary;
  std::vector<Json> lines;
  std::vector<std::string> problems;
};

// Models of tools/classifier_golden.py. Their files limit texts to 64 tokens. context 0: that limit
ClassifierRun run_classifier(const std::string& name, BatchTask task, const Json& line, int context,
                             TooLong too_long) {
  const auto model = Model::load(PANDO_SOURCE_DIR "/tests/task/data/classifiers/" + name,
                                 {.weights = WeightType::kF32, .threads = 1})
                         .value();
  const auto engine =
      Engine::open(model, {.threads = 1, .kv_memory = size_t{16} << 20, .context = context});
  ClassifierRun ran;
  BatchOptions options;
  options.task = task;
  options.too_long = too_long;
  options.on_problem = [&](const std::string& problem) { ran.problems.push_back(problem); };
  std::istringstream input(line.dump() + "\n");
  std::ostringstream output;
  ran.summary = run_batch(**engine, input, 0, output, options).value();
  std::istringstream lines(output.str());
  for (std::string one; std::getline(lines, one);) ran.lines.push_back(Json::parse(one));
  return ran;
}

std::string hundred_tokens() {
  std::string text = "a";
  for (int i = 0; i < 99; ++i) text += " a";
  return text;
}

TEST(ClassifierLines, AreCutToTheLimitOfTheFiles) {
  const ClassifierRun ran = run_classifier("bert-three", BatchTask::kClassify,
                                           {{"text", hundred_tokens()}}, 0, TooLong::kError);
  ASSERT_EQ(ran.lines.size(), 1u);
  EXPECT_EQ(ran.lines[0]["prompt_tokens"], 64);
  EXPECT_EQ(ran.lines[0]["cut_tokens"], 38);  // of 100 tokens and 2 special ones
  EXPECT_EQ(ran.problems, std::vector<std::string>{"line 1: the text of 102 tokens was cut to 64"});
}

TEST(ClassifierLines, AreCutToTheContextOnlyIfAsked) {
  const Json line = {{"text", hundred_tokens()}};
  const ClassifierRun refused =
      run_classifier("bert-three", BatchTask::kClassify, line, 16, TooLong::kError);
  EXPECT_TRUE(refused.lines.empty());
  EXPECT_EQ(refused.summary.failed, 1u);
  ASSERT_EQ(refused.problems.size(), 1u);
  EXPECT_NE(refused.problems[0].find("context length is 16 tokens"), std::string::npos);
  const ClassifierRun skipped =
      run_classifier("bert-three", BatchTask::kClassify, line, 16, TooLong::kSkip);
  EXPECT_EQ(skipped.summary.failed, 0u);
  EXPECT_EQ(skipped.summary.skipped, 1u);
  const ClassifierRun cut =
      run_classifier("bert-three", BatchTask::kClassify, line, 16, TooLong::kTruncateMiddle);
  ASSERT_EQ(cut.lines.size(), 1u);
  EXPECT_EQ(cut.lines[0]["prompt_tokens"], 16);
  EXPECT_EQ(cut.lines[0]["cut_tokens"], 86);
  EXPECT_EQ(cut.summary.cut, 1u);
}

TEST(ClassifierLines, PairsOfARerankerFollowTheSameRule) {
  const Json line = {{"query", "a page"}, {"documents", {"rows", hundred_tokens()}}};
  const ClassifierRun refused =
      run_classifier("xlm-roberta-pairs", BatchTask::kRerank, line, 20, TooLong::kError);
  EXPECT_TRUE(refused.lines.empty());
  EXPECT_EQ(refused.summary.failed, 1u);
  const ClassifierRun cut =
      run_classifier("xlm-roberta-pairs", BatchTask::kRerank, line, 20, TooLong::kTruncateMiddle);
  ASSERT_EQ(cut.lines.size(), 1u);
  EXPECT_GT(cut.lines[0]["cut_tokens"], 0);
  EXPECT_LT(cut.lines[0]["prompt_tokens"], 40);
  const ClassifierRun whole =
      run_classifier("xlm-roberta-pairs", BatchTask::kRerank, line, 0, TooLong::kError);
  EXPECT_EQ(whole.lines.size(), 1u);
  EXPECT_EQ(whole.summary.cut, 1u);
}

}  // namespace
}  // namespace pando::testing
