// Commands that list devices and compare them with plain loops.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/process.h"

namespace pando::testing {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2;  // src/cli/exit_code.h

class DevicesTest : public ProcessTest {};

TEST_F(DevicesTest, AreListedWithTheirMemoryOrTheReason) {
  const Finished listed = pando("devices --json");
  ASSERT_EQ(listed.code, kOk) << listed;
  const nlohmann::json devices = nlohmann::json::parse(listed.out);
  const Finished text = pando("devices");
  std::vector<std::string> names;
  for (const nlohmann::json& device : devices) {
    names.push_back(device["name"]);
    const std::string reason = device["reason"];
    EXPECT_EQ(device["usable"], reason.empty()) << device;
    if (reason.empty()) {
      EXPECT_GT(device["memory_bytes"], 1 << 20) << device;
    } else {
      EXPECT_NE(text.out.find("\tcannot be used: " + reason + "\n"), std::string::npos) << text;
    }
    EXPECT_NE(("\n" + text.out).find("\n" + names.back() + "\t"), std::string::npos) << text;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "scalar", "emulated", "opencl", "cuda"}));
}

TEST_F(DevicesTest, ADeviceThatCannotBeUsedIsRefusedWithTheReason) {
  const nlohmann::json devices = nlohmann::json::parse(pando("devices --json").out);
  for (const nlohmann::json& device : devices) {
    if (device["usable"]) continue;
    const std::string end = device["reason"].get<std::string>() + "\n";
    const Finished verified = pando("verify --device " + device["name"].get<std::string>());
    EXPECT_EQ(verified.code, kFailed) << verified;
    EXPECT_TRUE(verified.err.starts_with("pando: ") && verified.err.ends_with(end)) << verified;
  }
}

TEST_F(DevicesTest, VerifyingNeedsAnInputOrADeviceWithKernels) {
  for (const char* options : {"", " --model m", " --model m --device scalar"}) {
    const Finished none = pando(std::string("verify") + options);
    EXPECT_EQ(none.code, kUsage) << none;
    EXPECT_EQ(none.err, "pando: verify: --input is required\n");
  }
  const Finished cpu = pando("verify --device cpu");
  EXPECT_EQ(cpu.code, kUsage) << cpu;
  EXPECT_EQ(cpu.err, "pando: --device is 'cpu', expected emulated, opencl or cuda\n");
}

}  // namespace
}  // namespace pando::testing
