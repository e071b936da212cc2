// Scores of written answers, with values worked out by hand.
#include "pando/evaluate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

namespace pando::testing {
namespace {

Evaluation evaluated(const std::string& input, const EvaluateOptions& options = {}) {
  std::istringstream in(input);
  const Result<Evaluation> result = evaluate(in, options);
  EXPECT_TRUE(result.ok()) << result.error().message();
  return result.ok() ? *result : Evaluation();
}

std::string refused(const std::string& input, const EvaluateOptions& options = {}) {
  std::istringstream in(input);
  const Result<Evaluation> result = evaluate(in, options);
  return result.ok() ? "" : result.error().message();
}

EvaluatedScore score(const Evaluation& result, const std::string& metric,
                     const std::string& statistic = "mean", const std::string& group = "") {
  for (const EvaluatedScore& score : result.scores)
    if (score.metric == metric && score.statistic == statistic && score.group == group)
      return score;
  ADD_FAILURE() << metric << " " << statistic << " of '" << group << "'";
  return {};
}

TEST(Evaluate, ScoresEachQuestion) {
  const Evaluation result = evaluated(
      R"({"id": "d", "question_id": "0", "text": "The cat sat.", "answers": ["cat sat", "dog"]}
{"id": "d", "question_id": "1", "text": "red fox", "answers": "red wolf"}

{"id": "e", "text": "no reference"}
)");
  EXPECT_EQ(result.lines, 3u);
  EXPECT_EQ(result.bad_lines, 0u);
  EXPECT_EQ(result.questions, 2u);
  EXPECT_EQ(result.answers, 2u);
  EXPECT_EQ(result.without_reference, 1u);
  EXPECT_EQ(score(result, "exact_match").value, 0.5);
  EXPECT_EQ(score(result, "exact_match").standard_error, 0.5);
  EXPECT_DOUBLE_EQ(score(result, "token_f1").value, 0.75);
  EXPECT_DOUBLE_EQ(score(result, "rouge_l").value, (0.8 + 0.5) / 2);
  EXPECT_EQ(score(result, "rouge_l").questions, 2u);
}

TEST(Evaluate, FieldsMayBeAnywhere) {
  EvaluateOptions options;
  options.metrics = {"accuracy"};
  options.answer = "response.body.choices.0.message.content";
  options.reference = "right";
  options.by = "kind";
  const Evaluation result = evaluated(
      R"({"response": {"body": {"choices": [{"message": {"content": " x "}}]}}, "metadata": {"right": "x", "kind": "b"}}
{"response": {"body": {"choices": [{"message": {"content": "y"}}]}}, "right": "x", "kind": 7}
{"response.body": {"choices": [{"message": {"content": "x"}}]}, "right": ["z", "x"]}
)",
      options);
  EXPECT_EQ(result.bad_lines, 0u);
  EXPECT_DOUBLE_EQ(score(result, "accuracy").value, 2.0 / 3);
  EXPECT_EQ(score(result, "accuracy", "mean", "b").value, 1);
  EXPECT_EQ(score(result, "accuracy", "mean", "7").value, 0);
  EXPECT_EQ(result.scores.size(), 3u) << "the line without a kind is in no group";
  EXPECT_EQ(result.scores[0].group, "");
}

TEST(Evaluate, TablesHoldTheSame) {
  EvaluateOptions options;
  options.format = InputFormat::kCsv;
  options.by = "subject";
  const std::string table =
      "id,text,answers,metadata,choice\n"
      "1,\"a cat\",\"[\"\"cat\"\",\"\"dog\"\"]\",\"{\"\"subject\"\":\"\"pets\"\"}\",\n"
      "2,,cat,,0\n"
      "3,x,,,0\n"
      "4,too,few\n"
      "5,\xff,x,,0\n";
  std::vector<std::string> problems;
  options.on_problem = [&](const std::string& problem) { problems.push_back(problem); };
  const Evaluation result = evaluated(table, options);
  EXPECT_EQ(result.lines, 5u);
  EXPECT_EQ(result.bad_lines, 2u);
  EXPECT_EQ(problems, (std::vector<std::string>{"line 5: 3 cells, expected 5",
                                                "line 6: the row is not valid UTF-8"}));
  EXPECT_EQ(result.questions, 2u);
  EXPECT_EQ(result.without_reference, 1u);
  EXPECT_EQ(score(result, "exact_match").value, 0.5);
  EXPECT_EQ(score(result, "exact_match", "mean", "pets").value, 1);
}

TEST(Evaluate, SamplesOfOneQuestion) {
  EvaluateOptions options;
  options.metrics = {"number"};
  options.majority = true;
  options.pass_at = {1, 2, 4};
  const Evaluation result = evaluated(
      R"({"id": 1, "choice": 0, "text": "so 5", "answers": "#### 7"}
{"id": 1, "choice": 1, "text": "it is 7.0", "answers": "#### 7"}
{"id": 1, "choice": 2, "text": "7", "answers": "#### 7"}
{"id": 1, "choice": 3, "text": "6", "answers": "#### 7"}
{"id": 2, "choice": 0, "text": "1", "answers": "2"}
{"id": 2, "choice": 1, "text": "2", "answers": "2"}
{"id": 3, "text": "9", "answers": "none"}
)",
      options);
  EXPECT_EQ(result.questions, 2u) << "a reference without a number is not scored";
  EXPECT_EQ(result.answers, 6u);
  EXPECT_DOUBLE_EQ(score(result, "number").value, 0.5);
  EXPECT_EQ(score(result, "number").standard_error, 0);
  EXPECT_EQ(score(result, "number", "majority").value, 0.5) << "7 wins; of 1 and 2 the first";
  EXPECT_DOUBLE_EQ(score(result, "number", "pass@1").value, 0.5);
  EXPECT_DOUBLE_EQ(score(result, "number", "pass@2").value, (5.0 / 6 + 1) / 2);
  EXPECT_EQ(score(result, "number", "pass@4").value, 1);
  EXPECT_EQ(score(result, "number", "pass@4").questions, 1u);
}

TEST(Evaluate, AFieldNamesTheQuestion) {
  EvaluateOptions options;
  options.metrics = {};
  options.score_fields = {"passed"};
  options.question = "task_id";
  options.pass_at = {2};
  const Evaluation result = evaluated(
      R"({"task_id": "HumanEval/0", "passed": true}
{"task_id": "HumanEval/1", "passed": false}
{"task_id": "HumanEval/0", "passed": false}
{"task_id": "HumanEval/0", "passed": 0}
{"task_id": "HumanEval/1", "passed": "false"}
{"task_id": "HumanEval/1", "passed": 2}
)",
      options);
  EXPECT_EQ(result.bad_lines, 1u);
  EXPECT_EQ(result.questions, 2u);
  EXPECT_DOUBLE_EQ(score(result, "passed").value, (1.0 / 3 + 0) / 2);
  EXPECT_DOUBLE_EQ(score(result, "passed", "pass@2").value, (2.0 / 3 + 0) / 2);
}

TEST(Evaluate, PartsOfAnAnswerHaveOneScore) {
  EvaluateOptions options;
  options.metrics = {};
  options.score_fields = {"passed"};
  std::vector<std::string> problems;
  options.on_problem = [&](const std::string& problem) { problems.push_back(problem); };
  const Evaluation result = evaluated(
      R"({"id": 1, "part": 0, "parts": 2, "passed": false}
{"id": 1, "part": 1, "parts": 2, "passed": true}
{"id": 2, "part": 0, "parts": 2, "passed": true}
{"id": 2, "part": 1, "parts": 2, "passed": 1}
)",
      options);
  EXPECT_EQ(problems,
            std::vector<std::string>{"line 2: field 'passed' differs from that of another part of "
                                     "the answer, expected one score for all parts"});
  EXPECT_EQ(result.questions, 2u);
  EXPECT_DOUBLE_EQ(score(result, "passed").value, 0.5);
}

TEST(Evaluate, DifferentQuestionsAreNotJoined) {
  EvaluateOptions options;
  options.metrics = {"accuracy"};
  options.question = "q";
  std::vector<std::string> problems;
  options.on_problem = [&](const std::string& problem) { problems.push_back(problem); };
  const Evaluation result = evaluated(
      R"({"q": "a", "text": "x"}
{"q": "a", "text": "x", "answers": "x"}
{"q": "a", "text": "y", "answers": ["x"]}
{"q": "a", "text": "y", "answers": "y"}
{"text": "x", "answers": "x"}
{"q": "", "text": "x", "answers": "x"}
{"q": "b", "text": "z", "answers": "x"}
)",
      options);
  EXPECT_EQ(problems,
            (std::vector<std::string>{
                "line 4: field 'answers' differs from that of line 1, which has the same question, "
                "expected the same",
                "line 5: field 'q' is missing, expected the question that was answered",
                "line 6: field 'q' is missing, expected the question that was answered"}));
  EXPECT_EQ(result.bad_lines, 3u);
  EXPECT_EQ(result.questions, 2u);
  EXPECT_EQ(result.answers, 4u);
  EXPECT_DOUBLE_EQ(score(result, "accuracy").value, (2.0 / 3 + 0) / 2);
}

TEST(Evaluate, PartsOfADocumentAreOneAnswer) {
  EvaluateOptions options;
  options.metrics = {"accuracy"};
  const Evaluation result = evaluated(
      R"({"id": 1, "part": 1, "parts": 2, "text": "b", "answers": "a\nb"}
{"id": 2, "part": 0, "parts": 2, "text": "yes", "choice_logprobs": [-0.5, -4], "answers": "yes"}
{"id": 1, "part": 0, "parts": 2, "text": "a", "answers": "a\nb"}
{"id": 2, "part": 1, "parts": 2, "text": "no", "choice_logprobs": [-5, -1], "answers": "yes"}
)",
      options);
  EXPECT_EQ(result.questions, 2u);
  EXPECT_EQ(score(result, "accuracy").value, 1);
}

TEST(Evaluate, EqualIdsAreQuestionsOfTheirOwn) {
  EvaluateOptions options;
  options.metrics = {"accuracy"};
  const std::string line = R"({"id": 1, "text": "a", "answers": "a"})";
  EXPECT_EQ(evaluated(line + "\n" + line, options).questions, 2u);
  EXPECT_EQ(evaluated(R"([{"text": "a", "answers": "a"}, {"text": "b", "answers": "a"}])", options)
                .questions,
            2u);
}

TEST(Evaluate, ClustersWidenTheError) {
  EvaluateOptions options;
  options.metrics = {"accuracy"};
  options.cluster = "id";
  const std::string lines =
      R"({"id": "a", "question_id": "0", "text": "x", "answers": "x"}
{"id": "a", "question_id": "1", "text": "x", "answers": "x"}
{"id": "b", "question_id": "0", "text": "x", "answers": "y"}
{"id": "b", "question_id": "1", "text": "x", "answers": "y"}
)";
  EXPECT_DOUBLE_EQ(score(evaluated(lines, options), "accuracy").standard_error, std::sqrt(2.0) / 4);
  options.cluster.clear();
  EXPECT_DOUBLE_EQ(score(evaluated(lines, options), "accuracy").standard_error,
                   std::sqrt(1.0 / 12));
}

TEST(Evaluate, ExpressionsAreMatchedAndExtracted) {
  EvaluateOptions options;
  options.metrics = {"regex", "accuracy"};
  const Evaluation matched = evaluated(
      R"x({"text": "on 3 May", "answers": "[0-9] (May|June)"}
{"text": "on May 3", "answers": "[0-9] (May|June)"}
{"text": "x", "answers": "(unclosed"}
)x",
      options);
  EXPECT_EQ(score(matched, "regex").value, 0.5);
  EXPECT_EQ(matched.bad_lines, 1u);
  options.metrics = {"accuracy"};
  options.extract = R"((?<=answer is )\w+)";
  const Evaluation extracted = evaluated(
      R"({"text": "The answer is A. No: the answer is B.", "answers": "B"}
{"text": "B", "answers": "B"}
)",
      options);
  EXPECT_EQ(score(extracted, "accuracy").value, 0.5) << "without a match the answer is empty";
}

TEST(Evaluate, OptionsAreChecked) {
  EvaluateOptions options;
  options.metrics = {"bleu"};
  EXPECT_EQ(refused("", options),
            "metric is 'bleu', expected exact_match, token_f1, rouge_l, accuracy, number or "
            "regex");
  options.metrics = {};
  EXPECT_EQ(refused("", options),
            "there is nothing to score, expected a metric or a field with scores");
  options.metrics = {"accuracy"};
  options.pass_at = {0};
  EXPECT_EQ(refused("", options), "pass_at has 0 in it, expected at least 1");
  options.pass_at = {};
  options.extract = "(";
  EXPECT_NE(refused("", options), "");
}

// Lines that a kill, a full disk or a hand broke: each counts as bad or is scored.
TEST(Evaluate, BrokenLinesAreCounted) {
  const std::string line =
      R"({"id": "d", "question_id": "0", "choice": 1, "part": 0, "text": "ä 1", "answers": ["ä", "1"], "choice_logprobs": [-1, null], "metadata": {"s": [1, {"t": "u"}]}})";
  EvaluateOptions options;
  options.metrics = {metric_names().begin(), metric_names().end()};
  options.by = "s.1.t";
  options.majority = true;
  options.pass_at = {1};
  for (size_t n = 1; n < line.size(); ++n) {
    std::istringstream in(line + "\n" + line.substr(0, n) + "\n");
    const Result<Evaluation> result = evaluate(in, options);
    ASSERT_TRUE(result.ok()) << n << " " << result.error().message();
    EXPECT_EQ(result->bad_lines, 1u) << n;
    EXPECT_EQ(result->questions, 1u) << n;
  }
  constexpr std::string_view kBreaks("\"{}[]:,0-9nt\\\xff \0", 16);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string broken = line;
    for (int changes = 1 + i % 3; changes > 0; --changes)
      broken[random() % broken.size()] = kBreaks[random() % kBreaks.size()];
    std::istringstream in(line + "\n" + broken + "\n");
    const Result<Evaluation> result = evaluate(in, options);
    ASSERT_TRUE(result.ok()) << broken << " " << result.error().message();
    EXPECT_EQ(result->lines, 2u) << broken;
    EXPECT_LE(result->bad_lines, 1u) << broken;
    for (const EvaluatedScore& score : result->scores) {
      EXPECT_GE(score.value, 0) << broken;
      EXPECT_LE(score.value, 1) << broken;
    }
  }
}

TEST(Evaluate, AnotherKindOfFileIsSaid) {
  EXPECT_NE(refused(std::string("PAR1\x15\4", 6)).find("a Parquet file"), std::string::npos);
  EXPECT_EQ(evaluated("").lines, 0u);
}

}  // namespace
}  // namespace pando::testing
