// NVIDIA's host on a driver for tests. The program is linked with that driver, so
// dlopen("libcuda.so.1") opens it.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/cuda_testing.h"
#include "exec/gpu/cuda_host.h"
#include "exec/gpu/gpu_devices.h"
#include "exec/gpu/kernel_text.h"
#include "exec/gpu/row_ops.h"
#include "exec/gpu/start_test.h"

namespace pando::exec::gpu {
namespace {

using CudaHost = CudaTest;

TEST_F(CudaHost, TheDeviceIsOffered) {
  EXPECT_EQ(cuda_device().description(), "Test GPU, compute capability 9.0, driver for CUDA 13.0");
  EXPECT_EQ(cuda_device().own_memory_bytes(), driver::kMemory);
  EXPECT_EQ(cuda_device().refusal(), "");
  EXPECT_EQ(open_cuda(1, kernel_text()).error().message(), "CUDA has 1 devices, expected number 1");
}

TEST_F(CudaHost, StartTestPasses) {
  const std::unique_ptr<Host> host = open();
  EXPECT_EQ(host->name(), "Test GPU");
  const Status status = start_test(*host);
  EXPECT_TRUE(status.ok()) << status.error().message();
  EXPECT_GT(driver::n_calls("cuLaunchKernel"), 200u);
}

TEST_F(CudaHost, MemoryKeepsWhatIsWritten) {
  const std::unique_ptr<Host> host = open();
  std::vector<uint8_t> bytes(size_t{9} << 20), read(bytes.size());  // more than is staged at once
  std::minstd_rand random;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() & 0x7f);  // unlike the fill
  const std::vector<uint8_t> expected = bytes;
  {
    const Buffer buffer(*host, bytes.size() + 3);
    host->write(buffer, 3, bytes.data(), bytes.size());
    std::fill(bytes.begin(), bytes.end(), uint8_t{0});  // the host has copied them
    host->read(buffer, 3, read.data(), read.size());
    EXPECT_TRUE(read == expected);
    host->fill(buffer, 5, 0xff, 11);
    host->read(buffer, 3, read.data(), 20);
    EXPECT_EQ(read[1], expected[1]);
    EXPECT_EQ(read[2], 0xff);
    EXPECT_EQ(read[12], 0xff);
    EXPECT_EQ(read[13], expected[13]);
    EXPECT_EQ(driver::held().memory, 1u);
  }
  EXPECT_EQ(driver::held().memory, 0u);
}

TEST_F(CudaHost, CallsOutsideMemoryAreErrors) {
  const std::unique_ptr<Host> host = open();
  const Buffer buffer(*host, 8);
  const uint64_t value = 0;
  EXPECT_EQ(
      thrown_by([&] { host->write(buffer, 4, &value, 8), host->read(buffer, 0, nullptr, 0); }),
      "Test GPU: cuMemcpyHtoDAsync: invalid argument");
  EXPECT_THROW(Buffer(*host, driver::kMemory), std::bad_alloc);
}

TEST_F(CudaHost, AReleasedBufferServesTheCallsBefore) {
  const std::unique_ptr<Host> host = open();
  Rows x = rows_of(*host, {1, 2, 3});
  scale_rows(*host, 2.0f, x);
  Rows y = std::move(x);
  scale_rows(*host, 2.0f, y);
  y.values = Buffer(*host, 100);
  EXPECT_EQ(thrown_by([&] { host->read(y.values, 0, nullptr, 0); }), "");
}

TEST_F(CudaHost, ReleasedMemoryIsFreedForOtherBuffers) {
  const std::unique_ptr<Host> host = open();
  Buffer large(*host, driver::kMemory - 1000);
  host->fill(large, 0, 1, 8);
  { const Buffer ends = std::move(large); }
  EXPECT_EQ(driver::held().memory, 1u);  // the fill may still run
  large = Buffer(*host, 2000);
  EXPECT_EQ(driver::held().memory, 1u);
}

TEST_F(CudaHost, GridsOverTheLimitsAreErrors) {
  const std::unique_ptr<Host> host = open();
  const Rows x = rows_of(*host, {1});
  const Arg args[] = {&x.values, int32_t{1}, 1.0f};
  const auto launch = [&](Groups groups) {
    return thrown_by([&] {
      host->launch(Kernel::row_scale, groups, args);
      host->read(x.values, 0, nullptr, 0);
    });
  };
  EXPECT_EQ(launch({1, 65536}), "Test GPU: row_scale: invalid argument");
  EXPECT_EQ(launch({1, 1, 65536}), "Test GPU: row_scale: invalid argument");
  EXPECT_EQ(launch({1, 0}), "");
}

// A start that fails at any call leaves nothing behind.
TEST_F(CudaHost, EachCallThatFailsIsReported) {
  const std::pair<const char*, std::string> kCalls[] = {
      {"cuDevicePrimaryCtxRetain", "Test GPU: cuDevicePrimaryCtxRetain: out of memory"},
      {"cuCtxSetCurrent", "Test GPU: cuCtxSetCurrent: out of memory"},
      {"cuStreamCreate", "Test GPU: cuStreamCreate: out of memory"},
      {"cuMemAllocHost_v2", "Test GPU: cuMemAllocHost: out of memory"},
      {"cuModuleLoadData", "Test GPU does not load the kernels: out of memory"},
      {"cuModuleGetFunction", "Test GPU has no kernel quantise_groups: out of memory"},
  };
  for (const auto& [function, words] : kCalls) {
    driver::fail(function, 1, driver::kNoMemory);
    const std::string found = thrown_by([&] {
      const Result<std::unique_ptr<Host>> host = open_cuda(0, kernel_text());
      if (!host) throw std::runtime_error(host.error().message());
    });
    EXPECT_EQ(found, words);
    EXPECT_EQ(driver::held(), driver::Held()) << function;
  }
}

TEST_F(CudaHost, AFailedLaunchIsFoundByTheNextRead) {
  const std::unique_ptr<Host> host = open();
  Rows x = rows_of(*host, {1, 2, 3});
  scale_rows(*host, 2.0f, x);
  driver::fail("cuStreamSynchronize", 1, driver::kLaunchFailed);
  EXPECT_EQ(thrown_by([&] { values_of(*host, x); }),
            "Test GPU: cuStreamSynchronize: unspecified launch failure");
}

TEST_F(CudaHost, ACompilersWordsAreTheReason) {
  EXPECT_EQ(open_cuda(0, "void f(").error().message(),
            "the compiler (NVRTC) refuses the kernels: kernels.cu(1): error: no kernel");
  EXPECT_EQ(open_cuda(0, "extern \"C\" __global__ void f() {}").error().message(),
            "Test GPU has no kernel quantise_groups: named symbol not found");
}

}  // namespace
}  // namespace pando::exec::gpu
