// Tests of NVIDIA's run-time compiler, if it is installed. No test needs a GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exec/gpu/cuda_host.h"
#include "exec/gpu/gpu_devices.h"
#include "exec/gpu/nvrtc.h"

namespace pando::exec::gpu {
namespace {

constexpr Capability kHopper{9, 0};

class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the compiler is not built with sanitizers";
#endif
    const Status status = check_nvrtc(kHopper);
    if (!status) GTEST_SKIP() << status.error().message();
  }
};

TEST_F(Nvrtc, GivesMachineCodeOrPtx) {
  const std::string source = "extern \"C\" __global__ void f(float* x) { *x = 1.0f; }\n";
  const Result<std::string> code = compile_cuda(source, kHopper);
  ASSERT_TRUE(code.ok()) << code.error().message();
  EXPECT_TRUE(
      code->starts_with("\x7f"
                        "ELF"));
  const Result<std::string> ptx = compile_cuda(source, {999, 0});  // a future capability
  ASSERT_TRUE(ptx.ok()) << ptx.error().message();
  EXPECT_NE(ptx->find(".entry f("), std::string::npos);
}

TEST_F(Nvrtc, NeitherContractsNorFlushes) {
  const Result<std::string> ptx = compile_cuda(
      "extern \"C\" __global__ void f(float* x) {\n"
      "  x[0] = x[1] * x[2] + x[3] / __fsqrt_rn(x[4]);\n}\n",
      {999, 0});
  ASSERT_TRUE(ptx.ok()) << ptx.error().message();
  EXPECT_EQ(ptx->find("fma."), std::string::npos);
  EXPECT_EQ(ptx->find(".ftz"), std::string::npos);
  for (const char* name : {"mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"})
    EXPECT_NE(ptx->find(name), std::string::npos) << name;
}

TEST_F(Nvrtc, RefusesInOneLine) {
  EXPECT_EQ(compile_cuda("int f( {\n}\n", kHopper).error().message().find('\n'), std::string::npos);
  EXPECT_EQ(check_nvrtc({1, 0}).error().message(),
            "the compiler (NVRTC) does not know compute capability 1.0");
}

TEST(Cuda, IsThereOrSaysWhyNot) {
  const Result<std::vector<Offer>> offers = cuda_offers();
  if (offers) GTEST_SKIP() << "this machine has CUDA";
  EXPECT_TRUE(offers.error().message().starts_with("there is no CUDA: "))
      << offers.error().message();
  EXPECT_EQ(cuda_device().refusal(), offers.error().message());
  EXPECT_EQ(open_cuda(0, "").error().message(), offers.error().message());
}

}  // namespace
}  // namespace pando::exec::gpu
