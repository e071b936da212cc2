// Tests of OpenCL with PoCL or any other driver. They are skipped without a driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "exec/gpu/gpu_devices.h"
#include "exec/gpu/kernel_text.h"
#include "exec/gpu/opencl_host.h"
#include "exec/gpu/start_test.h"

namespace pando::exec::gpu {
namespace {

class OpenCl : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "drivers are not built with sanitizers";
#endif
    const Result<std::vector<Offer>> offers = opencl_offers();
    if (!offers) GTEST_SKIP() << offers.error().message();
    index_ = 0;
    while (index_ < offers->size() && !(*offers)[index_].refusal.empty()) ++index_;
    if (index_ == offers->size()) GTEST_SKIP() << (*offers)[0].refusal;
  }
  Result<std::unique_ptr<Host>> open(std::string_view source) {
    return open_opencl(index_, source);
  }

 private:
  size_t index_ = 0;
};

TEST_F(OpenCl, AllKernelsHaveTheBitsOfPlainLoops) {
  const Result<std::unique_ptr<Host>> host = open(kernel_text());
  ASSERT_TRUE(host.ok()) << host.error().message();
  for (const KernelCheck& check : check_kernels(**host, CheckSize::kStart))
    EXPECT_EQ(check.n_different, 0u) << check.name << ": " << check.n_cases << " cases";
}

TEST_F(OpenCl, MemoryKeepsWhatIsWritten) {
  const Result<std::unique_ptr<Host>> opened = open(kernel_text());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  Host& host = **opened;
  std::vector<uint8_t> bytes(100000), read(100000);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  const Buffer buffer(host, bytes.size() + 3);
  host.write(buffer, 3, bytes.data(), bytes.size());
  host.fill(buffer, 5, 77, 11);
  std::fill_n(bytes.begin() + 2, 11, uint8_t{77});
  host.read(buffer, 3, read.data(), read.size());
  EXPECT_EQ(read, bytes);
}

TEST_F(OpenCl, ABufferAboveTheDriversLimitIsRefused) {
  const Result<std::unique_ptr<Host>> opened = open(kernel_text());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  try {
    const Buffer buffer(**opened, size_t{1} << 50);
    FAIL() << "has " << buffer.bytes() << " bytes";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(": 1125899906842624 bytes in one buffer, expected"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(OpenCl, ACompilersWordsAreTheReason) {
  const Result<std::unique_ptr<Host>> wrong = open("__kernel void f(");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message().find(" does not compile the kernels: "), std::string::npos)
      << wrong.error().message();
  const Result<std::unique_ptr<Host>> empty = open("__kernel void f() {}");
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().message().find(" has no kernel "), std::string::npos)
      << empty.error().message();
}

TEST_F(OpenCl, TheDeviceSaysItsMemory) {
  EXPECT_EQ(opencl_device().refusal(), "");
  EXPECT_NE(opencl_device().description(), "");
  EXPECT_GT(opencl_device().memory_bytes(), uint64_t{1} << 20);
  EXPECT_GT(opencl_device().largest_buffer_bytes(), uint64_t{1} << 20);
  EXPECT_LE(opencl_device().largest_buffer_bytes(), opencl_device().memory_bytes());
}

}  // namespace
}  // namespace pando::exec::gpu
