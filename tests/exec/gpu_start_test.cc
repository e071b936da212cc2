// The start test compares a device's kernels with plain loops before a model is loaded.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "exec/gpu/emulated_host.h"
#include "exec/gpu/start_test.h"

namespace pando::exec::gpu {
namespace {

// One kernel's denormal results become zero, as on a device that flushes them.
class FlushingHost final : public EmulatedHost {
 public:
  explicit FlushingHost(Kernel kernel, size_t result) : kernel_(kernel), result_(result) {}

  void launch(Kernel kernel, Groups groups, std::span<const Arg> args) override {
    EmulatedHost::launch(kernel, groups, args);
    if (kernel != kernel_) return;
    const Buffer& buffer = *std::get<const Buffer*>(args[result_]);
    std::vector<float> values(buffer.bytes() / sizeof(float));
    read(buffer, 0, values.data(), buffer.bytes());
    for (float& value : values)
      if (std::fpclassify(value) == FP_SUBNORMAL) value = 0.0f;
    write(buffer, 0, values.data(), buffer.bytes());
  }

 private:
  Kernel kernel_;
  size_t result_;  // index of the argument
};

TEST(GpuStartTest, TheEmulationHasTheBitsOfPlainLoops) {
  EmulatedHost host;
  uint64_t n_cases = 0;
  for (const KernelCheck& check : check_kernels(host, CheckSize::kStart)) {
    EXPECT_EQ(check.n_different, 0u) << check.name;
    n_cases += check.n_cases;
  }
  EXPECT_GE(n_cases, 200u);
  EXPECT_TRUE(start_test(host).ok());
}

TEST(GpuStartTest, ADeviceThatFlushesDenormalsIsRefusedByName) {
  FlushingHost host(Kernel::row_activate, 2);
  const Status status = start_test(host);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(
      status.error().message().starts_with("emulated gives other bits than the processor: "))
      << status.error().message();
  EXPECT_TRUE(status.error().message().ends_with(" cases of activations differ"))
      << status.error().message();
}

TEST(GpuStartTest, WhatADeviceThrowsIsTheReason) {
  class FailingHost final : public EmulatedHost {
    void launch(Kernel, Groups, std::span<const Arg>) override {
      throw std::runtime_error("the device is lost");
    }
  };
  FailingHost host;
  EXPECT_EQ(start_test(host).error().message(), "the device is lost");
}

}  // namespace
}  // namespace pando::exec::gpu
