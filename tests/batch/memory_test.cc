// Memory does not grow with the input.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <streambuf>

#include "engine/tiny_engine.h"
#include "model/test_files.h"
#include "pando/batch.h"

namespace pando::testing {
namespace {

// So many lines, each with a context and a question of its own, made when they are read.
class Lines : public std::streambuf {
 public:
  explicit Lines(int n) : n_(n) {}

 private:
  int_type underflow() override {
    if (next_ == n_) return traits_type::eof();
    line_ = fmt::format(
        "{{\"id\": {0}, \"context\": \"Context {1} of {0}\", \"questions\": [\"What is {0}?\"]}}\n",
        next_, next_ * 7919 % 1000003);
    ++next_;
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_[0]);
  }
  int n_, next_ = 0;
  std::string line_;
};

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST(BatchMemory, AtTheEndItIsThatOfAFifth) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep what was freed for a while";
#endif
  const bool slow = std::getenv("PANDO_SLOW_TESTS") != nullptr;
  const uint64_t n_questions = slow ? 200000 : 20000;
  TemporaryFolder folder;
  EngineOptions engine_options = tiny_options();
  engine_options.kv_memory = size_t{2} << 20;  // full long before
  Lines buffer(static_cast<int>(n_questions));
  std::istream in(&buffer);
  const auto file = AnswerFile::create(folder.path() / "answers.jsonl", {});
  ASSERT_TRUE(file.ok());
  BatchOptions options;
  options.defaults.sampling.max_tokens = 2;
  uint64_t n = 0;
  double at_a_fifth = 0;
  options.on_answer = [&](const BatchAnswer&) {
    if (++n == n_questions / 5) at_a_fifth = resident_bytes();
  };
  const auto summary = run_batch(*open_tiny(engine_options), in, 0, **file, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->answers, n_questions);
  EXPECT_GT(summary->stats.evicted_pages, 0u);
  const double grown = resident_bytes() / at_a_fifth - 1;
  RecordProperty("grown_percent", std::to_string(100 * grown));
  EXPECT_LT(grown, 0.02);
}

}  // namespace
}  // namespace pando::testing
