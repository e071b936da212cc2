// A supervisor is told this.
#include "cli/notify.h"

#include "cli/datagrams.h"
#include "cli/serve_process.h"

namespace pando::testing {
namespace {

constexpr const char* kName = "NOTIFY_SOCKET";

class NotifyTest : public ServeTest {};

TEST_F(NotifyTest, SendsToAPathAndToAnAbstractName) {
  for (const std::string& name :
       {at("notify").string(), "@pando-test-" + std::to_string(getpid())}) {
    Datagrams listening(name);
    const Variable variable(kName, name);
    cli::notify("READY=1");
    cli::notify("STOPPING=1");
    EXPECT_EQ(listening.take(), (std::vector<std::string>{"READY=1", "STOPPING=1"})) << name;
  }
}

TEST_F(NotifyTest, SaysWhatCannotBeTold) {
  for (const auto& [name, why] : {std::pair{at("nobody").string(), "No such file or directory"},
                                  {"/" + std::string(200, 'x'), "File name too long"}}) {
    const Variable variable(kName, name);
    ::testing::internal::CaptureStderr();
    cli::notify("READY=1");
    EXPECT_EQ(
        ::testing::internal::GetCapturedStderr(),
        "pando: NOTIFY_SOCKET is '" + name + "', but sending READY=1 to it failed: " + why + "\n");
  }
}

TEST_F(NotifyTest, IsSilentWithoutTheVariable) {
  unsetenv(kName);
  ::testing::internal::CaptureStderr();
  cli::notify("READY=1");
  const Variable variable(kName, "");
  cli::notify("READY=1");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(NotifyTest, AServerSaysWhenItServesAndWhenItStops) {
  Datagrams listening(at("notify").string());
  const Variable variable(kName, at("notify").string());
  EXPECT_EQ(serve_and_end("m").find("NOTIFY_SOCKET"), std::string::npos);
  EXPECT_EQ(listening.take(), (std::vector<std::string>{"READY=1", "STOPPING=1"}));
}

TEST_F(NotifyTest, AServerThatCannotServeIsNeverReady) {
  Datagrams listening(at("notify").string());
  const Variable variable(kName, at("notify").string());
  EXPECT_NE(pando("serve --model none --port 0").code, 0);
  EXPECT_EQ(listening.take(), std::vector<std::string>());
}

}  // namespace
}  // namespace pando::testing
