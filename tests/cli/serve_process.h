// `pando serve` as a process.
#pragma once

#include "cli/process.h"

namespace pando::testing {

class ServeTest : public ProcessTest {
 protected:
  // Returns what it says of `model`, and further options, until it serves and is told to end, as it
  // must. `before`: commands of bash for when it serves.
  std::string serve_and_end(const std::string& model, const std::string& before = "") {
    std::filesystem::remove(at("served.txt"));
    folder().write("serve.sh", "'" PANDO_BINARY "' serve --model " + model +
                                   " --threads 1 --kv-memory " + kv_memory_ +
                                   " --port 0 --policy fcfs 2> served.txt &\n"
                                   "until_said() { until grep -qs \"$1\" served.txt; do kill -0 $! "
                                   "|| exit 9; sleep 0.02; done; }\n"
                                   "until_said serving\n" +
                                   before + "kill -TERM $!\nwait $!\n");
    const int status = std::system(
        ("cd '" + folder().path().string() + "' && timeout -k 1 60 bash serve.sh").c_str());
    std::string said = contents(at("served.txt"));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << said;
    return said;
  }

  std::string kv_memory_ = "64MiB";
};

}  // namespace pando::testing
