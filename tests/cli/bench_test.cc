// `pando bench` refuses input that cannot be used, and says so before the work.
#include "cli/process.h"

namespace pando::testing {
namespace {

class BenchTest : public ProcessTest {
 protected:
  void expect_says(const std::string& arguments, int code, const std::string& message) {
    const Finished finished = pando("bench " + arguments + " --models models");
    EXPECT_EQ(finished.code, code) << finished;
    EXPECT_EQ(finished.out, "") << finished;
    EXPECT_TRUE(finished.says(message)) << finished;
  }
};

TEST_F(BenchTest, SaysWhatIsWrong) {
  folder().write("file", "");
  expect_says("peek", 2,
              "no benchmark is named 'peek', expected one of `pando bench list` (hint: 'peak'?)");
  expect_says("list --quick", 2,
              "bench list: --quick and --full need the name of a benchmark, not 'list'");
  expect_says("", 2, "bench: name is required\n");
  expect_says("peak twice", 2, "bench: unexpected argument 'twice', expected an option");
  expect_says("peak --threads 100000", 2,
              "bench: --threads: 100000, expected 0 (one per fast processor) to 1024");
  expect_says("peak --threads -1", 2, "bench: --threads: -1, expected 0 (one per fast processor) to 1024");
  expect_says("peak --quick --out file", 1, "--out: 'file' is not a directory");
  const Finished unwritable = pando("bench speed --quick --models file/models");
  EXPECT_EQ(unwritable.code, 1) << unwritable;
  EXPECT_TRUE(unwritable.says("--models: cannot make file/models: ")) << unwritable;
  expect_says("peak --quick --model m", 2, "--model: peak has no use for it");
  expect_says("speed --quick --model nowhere", 1, "nowhere");
  expect_says("speed --quick --model file", 1, "file");
  expect_says("speed --quick --model .", 1, "config.json");
  expect_says("gpu --quick --device fpga", 2, "is 'fpga', expected cuda or opencl");
  expect_says("compare --quick", 2, "expected --peer COMMAND");
  expect_says("compare --quick --peer false", 1, "'false' ended with status 1");
  expect_says("compare --quick --peer 'echo many'", 1, "expected a number above 0");
  expect_says("compare --quick --peer 'echo {kinds}'", 2, "--peer has '{kinds}', expected of");
}

TEST_F(BenchTest, TheListSaysWhatIsTaken) {
  const std::string list = pando("bench list").out;
  const auto line_of = [&](const std::string& name) {
    const size_t begin = list.find("\n" + name + " ") + 1;
    return list.substr(begin, list.find('\n', begin) - begin);
  };
  EXPECT_TRUE(line_of("compare").ends_with(" [needs --peer, takes --model]")) << list;
  EXPECT_FALSE(line_of("peak").ends_with("]")) << list;
}

}  // namespace
}  // namespace pando::testing
