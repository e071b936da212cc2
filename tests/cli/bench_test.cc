// What `pando bench` says of input that cannot be used, and that it says so before the work.
#include "cli/process.h"

namespace pando::testing {
namespace {

class BenchTest : public ProcessTest {
 protected:
  void expect_says(const std::string& arguments, const std::string& message) {
    const Finished finished = pando("bench " + arguments + " --models models");
    EXPECT_EQ(finished.code, 1) << finished;
    EXPECT_EQ(finished.out, "") << finished;
    EXPECT_TRUE(finished.says(message)) << finished;
  }
};

TEST_F(BenchTest, SaysWhatIsWrong) {
  folder().write("file", "");
  expect_says("peek", "no benchmark is named 'peek', expected one of `pando bench list`");
  expect_says("peak --threads 100000", "threads is 100000, expected 0 (all processors) to");
  expect_says("peak --threads -1", "threads is -1, expected 0 (all processors) to");
  expect_says("peak --quick --out file", "--out: 'file' is not a directory");
  expect_says("reranking --quick", "expected --data DIRECTORY");
  expect_says("reranking --quick --data .", "expected in --data by reranking");
  expect_says("speed --quick --model nowhere", "nowhere");
  expect_says("compare --quick", "expected --peer COMMAND");
  expect_says("compare --quick --peer false", "'false' ended with status 1");
  expect_says("compare --quick --peer 'echo many'", "expected a number: tokens per second");
  expect_says("compare --quick --peer 'echo {kinds}'", "--peer has '{kinds}', expected of");
}

}  // namespace
}  // namespace pando::testing
