// `pando serve` as a process: that it starts, and ends when it is told to.
#include "cli/process.h"

namespace pando::testing {
namespace {

class ServeTest : public ProcessTest {};

TEST_F(ServeTest, EndsWhenItIsToldToThoughNobodyEverCame) {
  folder().write("serve.sh",
                 "'" PANDO_BINARY
                 "' serve --model m --threads 1 --kv-memory 64MiB --port 0 "
                 "--policy fcfs 2> served.txt &\n"
                 "until grep -q serving served.txt; do kill -0 $! || exit 9; sleep 0.02; done\n"
                 "kill -TERM $!\nwait $!\n");
  const int status = std::system(
      ("cd '" + folder().path().string() + "' && timeout -k 1 60 bash serve.sh").c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << contents(at("served.txt"));
}

}  // namespace
}  // namespace pando::testing
