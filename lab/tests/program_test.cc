// Tests run the program with the techniques and the experiments of the laboratory (PANDO_LAB).
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/process.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kOk = 0, kFailed = 1, kUsage = 2;  // src/cli/exit_code.h

class LabTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("good.jsonl", kThreeQuestions);
  }

  Finished task(const std::string& name, const std::string& arguments) {
    return pando(fmt::format("{} --model m --threads 1 --kv-memory 64MiB {}", name, arguments));
  }
  void bench_says(const std::string& arguments, int code, const std::string& message) {
    const Finished finished = pando("bench " + arguments + " --models models");
    EXPECT_EQ(finished.code, code) << finished;
    EXPECT_EQ(finished.out, "") << finished;
    EXPECT_TRUE(finished.says(message)) << finished;
  }
};

TEST_F(LabTest, QuestionsThatOneRunRefusesDoNotDiffer) {
  const Finished finished = run("--input good.jsonl --compare radix:stateless");
  EXPECT_EQ(finished.code, kFailed) << finished;
  EXPECT_TRUE(finished.says("answers identical: none to compare; in only one of the runs: 3\n"))
      << finished;
  EXPECT_TRUE(finished.says("tree and radix:stateless did not answer the same questions"))
      << finished;
}

TEST_F(LabTest, TechniquesThatRoundAreComparedByTokens) {
  const Finished finished = run("--input good.jsonl --sharing hydragen --compare prepacked");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_TRUE(finished.says("answers with the same tokens: ")) << finished;
  EXPECT_TRUE(finished.says("prepacked: batches ")) << finished;
  const Finished verified = run("--input good.jsonl --sharing padded --verify 100%");
  EXPECT_EQ(verified.code, kUsage) << verified;
  EXPECT_TRUE(verified.says("sharing 'padded' does not keep")) << verified;
  const Finished option = run("--input good.jsonl --sharing padded:bach=3");
  EXPECT_EQ(option.code, kUsage) << option;
  EXPECT_TRUE(option.says("sharing 'padded' has no option 'bach'")) << option;
}

// Without attention all bits of what comes out are others.
TEST_F(LabTest, WhatComesOutIsCompared) {
  folder().write("texts-c.jsonl", "{\"text\": \"One text\"}\n{\"text\": \"Another text\"}\n");
  folder().write("queries-c.jsonl",
                 "{\"query\": \"q\", \"documents\": [\"first\", \"second\", \"third\"]}\n");
  folder().write("scores-c.jsonl",
                 "{\"prompt\": \"The sky is\", \"continuations\": [\" blue\", \" x\"]}\n");
  const std::tuple<const char*, const char*, const char*> tasks[] = {
      {"embed", "texts-c.jsonl", "vectors"},
      {"rerank", "queries-c.jsonl", "scores"},
      {"score", "scores-c.jsonl", "likelihoods"}};
  for (const auto& [name, input, what] : tasks) {
    const Finished other =
        task(name, fmt::format("--input {} --output /dev/null --compare no_attention", input));
    EXPECT_EQ(other.code, kOk) << other;
    EXPECT_TRUE(other.says(fmt::format("{} with the same bits: 0.0% of ", what))) << other;
  }
}

TEST_F(LabTest, WithoutAttentionEverythingSaysWrong) {
  const Finished finished =
      run("--input good.jsonl --sharing no_attention --output wrong.jsonl --report wrong.json");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_TRUE(finished.says("WRONG, computed without attention: no_attention: ")) << finished;
  EXPECT_TRUE(finished.says("WRONG, computed without attention: exact match")) << finished;
  const Json report = Json::parse(contents(at("wrong.json")));
  EXPECT_EQ(report["run"]["wrong"], "computed without attention");
}

// Wherever it appears.
TEST_F(LabTest, WhatIsComputedWithoutAttentionIsMarked) {
  folder().write("text-w.jsonl", "{\"text\": \"One text\"}\n");
  folder().write(
      "query-w.jsonl",
      "{\"id\": \"q\", \"query\": \"q\", \"documents\": [{\"id\": \"d\", \"text\": \"D\"}]}\n");
  folder().write("score-w.jsonl",
                 "{\"prompt\": \"The sky is\", \"continuations\": [\" blue\", \" x\"]}\n");
  folder().write("text-w.txt", "The sky is blue.");
  folder().write("qrels-w.txt", "q 0 d 1\n");
  const std::string mark = "\"wrong\":\"computed without attention\"";
  for (const auto& [name, arguments] : {std::pair{"embed", "--input text-w.jsonl"},
                                        {"rerank", "--input query-w.jsonl"},
                                        {"score", "--input score-w.jsonl"},
                                        {"score", "--perplexity text-w.txt"}}) {
    const std::string right = arguments;
    EXPECT_EQ(task(name, right).out.find(mark), std::string::npos) << name;
    const Finished wrong = task(name, right + " --sharing no_attention");
    EXPECT_NE(wrong.out.find(mark), std::string::npos) << name << wrong;
  }
  const Finished ranked = task("rerank",
                               "--input query-w.jsonl --output w.jsonl --trec-run w.run --qrels "
                               "qrels-w.txt --sharing no_attention");
  EXPECT_EQ(ranked.code, 0) << ranked;
  EXPECT_TRUE(ranked.says("WRONG, computed without attention: nDCG@10")) << ranked;
  EXPECT_NE(contents(at("w.run")).find(" pando-WRONG\n"), std::string::npos);
}

TEST_F(LabTest, CompletionOffersPlanners) {
  ASSERT_EQ(pando("completion bash > pando.bash").code, kOk);
  EXPECT_EQ(completed("pando run --sharing pre"), "prefix_cached prepacked\n");
}

TEST_F(LabTest, ExperimentsSayWhatIsWrong) {
  bench_says("reranking --quick", kUsage, "expected --data DIRECTORY");
  bench_says("reranking --quick --data .", kFailed, "expected in --data by reranking");
  bench_says("reranking --quick --data nowhere", kFailed, "--data: no directory nowhere");
  bench_says("radixmlp-table-5 --quick --threads 2", kUsage,
             "--threads: radixmlp-table-5 has one thread");
}

TEST_F(LabTest, ExperimentsAreListedBehindTheProductsBenchmarks) {
  const std::string list = pando("bench list").out;
  const size_t reranking = list.find("\nreranking ") + 1;
  const std::string line = list.substr(reranking, list.find('\n', reranking) - reranking);
  EXPECT_TRUE(line.ends_with(" [needs --data, takes --model]")) << list;
  EXPECT_LT(list.find("\nexactness-cost "), list.find("\nippd-table-5 ")) << list;
}

}  // namespace
}  // namespace pando::testing
