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

// Loading a model may take minutes, and who starts it is gone by then.
TEST_F(ServeTest, SaysWhatIsWrongWithAddressKeysAndCertificateBeforeItLoadsTheModel) {
  std::filesystem::create_directory(at("shape"));  // which no model can be loaded from
  folder().write("keys", "short\n");
  folder().write("no.pem", "none\n");
  for (const auto& [arguments, message] :
       {std::pair{"--host 300.1.1.1", "cannot listen on host '300.1.1.1'"},
        {"--api-key-file keys", "line 1 of the API keys has 5 characters"},
        {"--tls-cert no.pem --tls-key no.pem", "expected a certificate in PEM"}}) {
    const Finished refused =
        pando(std::string("serve --model shape --port 0 --policy fcfs ") + arguments);
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_TRUE(refused.says(message)) << refused;
  }
  const Finished unloadable = pando("serve --model shape --port 0 --policy fcfs");
  EXPECT_NE(unloadable.code, 0) << unloadable;
  EXPECT_FALSE(unloadable.says("serving")) << unloadable;
}

}  // namespace
}  // namespace pando::testing
