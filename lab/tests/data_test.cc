// Published data sets, prompts of them, and how they are packed. Skipped where the data is not
// there.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "lab/data/data_sets.h"
#include "lab/data/prompts.h"
#include "lab/papers/packing.h"
#include "lab/papers/process_memory.h"

namespace pando::lab {
namespace {

namespace fs = std::filesystem;

class DataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(PANDO_SHARED_DATA) / "mmlu-test.jsonl.gz"))
      GTEST_SKIP() << "needs published data sets, looked for in " PANDO_SHARED_DATA;
  }
  Harness harness_{"test", {.data = PANDO_SHARED_DATA}};
};

TEST_F(DataTest, SetsHaveTheSizesThatTheySay) {
  EXPECT_EQ(mmlu_questions(harness_).size(), 12289u);
  EXPECT_EQ(alpaca_texts(harness_).size(), 800u);
  EXPECT_GT(wikitext_paragraphs(harness_).size(), 2500u);
  EXPECT_EQ(trec_queries(harness_, 19).size(), 43u);
  EXPECT_EQ(trec_queries(harness_, 20)[53].passages.size(), 100u);
  EXPECT_EQ(mbpp_problems(harness_).size(), 600u);
  EXPECT_GT(war_and_peace(harness_).size(), 3'000'000u);
  const auto n_questions = [](const std::vector<QaDocument>& documents) {
    size_t n = 0;
    for (const QaDocument& document : documents) {
      EXPECT_EQ(document.answers.size(), document.questions.size());
      n += document.questions.size();
    }
    return n;
  };
  EXPECT_EQ(n_questions(squad_documents(harness_)), 6078u);
  EXPECT_EQ(n_questions(race_documents(harness_)), 4934u);
  EXPECT_EQ(n_questions(fairytale_documents(harness_)), 8548u);
}

TEST_F(DataTest, TokensAreCutAndFolded) {
  const TextTokens whole(harness_, 151936), folded(harness_, 1000);
  const std::vector<Token> tokens = whole("The tree unites what prompts have in common.");
  ASSERT_GT(tokens.size(), 6u);
  EXPECT_EQ(whole("The tree unites what prompts have in common.", 4).size(), 4u);
  const std::vector<Token> small = folded("The tree unites what prompts have in common.");
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(small[i], tokens[i] % 1000);
}

// A directory that holds one file with a mistake.
std::string message_of(const std::string& name, const std::string& text,
                       const std::function<void(const Harness&)>& read) {
  const fs::path directory = fs::path(testing::TempDir()) / "pando_data_test";
  fs::create_directories(directory);
  std::ofstream(directory / name, std::ios::binary) << text;
  std::string message;
  try {
    read(Harness("test", {.data = directory}));
  } catch (const BenchmarkError& error) {
    message = error.error.message();
  }
  fs::remove_all(directory);
  const size_t at = message.find(name);
  return at == std::string::npos ? message : message.substr(at);
}

TEST(DataErrorsTest, NameFileRecordAndField) {
  const auto mmlu = [](const Harness& harness) { mmlu_questions(harness); };
  const std::string name = "mmlu-test.jsonl.gz";
  EXPECT_EQ(message_of(name, "{\"question\": \"a\"}\n{\"question\": 3}\n", mmlu),
            name + ", line 2: 'question' is 3, expected a string");
  EXPECT_EQ(message_of(name, "{\"text\": \"a\"}\n", mmlu),
            name + ", line 1: 'question' is missing, expected a string");
  EXPECT_EQ(message_of(name, "", mmlu), name + " has no line with JSON");
  EXPECT_NE(message_of(name, "\x1f\x8b\x08 this is no gzip", mmlu).find("cannot be unpacked"),
            std::string::npos);
  EXPECT_EQ(message_of(name, "{\"question\": \"a\"}\n", mmlu),
            name + " has 1 question, expected at least 12289");
  EXPECT_EQ(message_of("war-and-peace.txt", "Well, Prince", war_and_peace),
            "war-and-peace.txt has 12 bytes, expected at least 3000000");
  const auto trec = [](const Harness& harness) { trec_queries(harness, 19); };
  EXPECT_EQ(
      message_of("trec-dl19-bm25-top100.jsonl.gz", "{\"query\": \"a\", \"hits\": []}\n", trec),
      "trec-dl19-bm25-top100.jsonl.gz, line 1: 'hits' has 0 passages, expected 100");
  EXPECT_NE(message_of("other", "", mmlu).find("cannot open "), std::string::npos);
}

TEST(PackingTest, BinsAreDrawn) {
  const std::vector<uint32_t> lengths = {10, 4, 5, 9, 1};
  const Packing packing = pack(lengths);
  EXPECT_EQ(packing.capacity, 10u);
  ASSERT_EQ(packing.bins.size(), 3u);
  EXPECT_EQ(packing.bins[1], (std::vector<uint32_t>{9, 1}));
  EXPECT_EQ(packing.bins[2], (std::vector<uint32_t>{5, 4}));
  EXPECT_EQ(bin_line(packing.bins[1], 10, 20), "00000000000000000011");
  EXPECT_EQ(bin_line(packing.bins[2], 10, 10), "000001111.");
  EXPECT_TRUE(to_svg(packing, "title").ends_with("</svg>\n"));
  EXPECT_TRUE(pack({}).bins.empty());
}

TEST(PackingTest, CorrelationIsPearsons) {
  using Pairs = std::vector<std::pair<double, double>>;
  EXPECT_NEAR(correlation(Pairs{{1, 2}, {2, 4}, {3, 6}}), 1, 1e-12);
  EXPECT_NEAR(correlation(Pairs{{1, 3}, {2, 2}, {3, 1}}), -1, 1e-12);
  EXPECT_NEAR(correlation(Pairs{{0, 0}, {1, 1}, {2, 0}}), 0, 1e-12);
  EXPECT_FALSE(std::isfinite(correlation(Pairs{{1, 1}, {1, 2}})));
}

TEST(SampleTest, TakesEachOnceAndTheSameAgain) {
  const std::vector<int> all = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<int> some = sample_of(all, 4, 3);
  EXPECT_EQ(std::set<int>(some.begin(), some.end()).size(), 4u);
  EXPECT_EQ(sample_of(all, 4, 3), some);
  EXPECT_EQ(sample_of(all, 9, 3).size(), 7u);
}

TEST(ProcessMemoryTest, PeakSeesWhatIsTouched) {
  std::vector<char> stays;
  const Result<uint64_t> peak = peak_memory_of([&] {
    stays.resize(size_t{128} << 20, 1);  // the first time
    const std::vector<char> touched(size_t{64} << 20, 1);
  });
  if (!peak) GTEST_SKIP() << peak.error().message();
  EXPECT_GE(*peak, uint64_t{60} << 20);
  EXPECT_LT(*peak, uint64_t{68} << 20);
}

}  // namespace
}  // namespace pando::lab
