// Graphs of repeated calls, on the driver for tests.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cuda/cuda_testing.h"
#include "exec/gpu/cuda_api.h"
#include "exec/gpu/row_ops.h"
#include "exec/gpu/values.h"

namespace pando::exec::gpu {
namespace {

constexpr int kScalings = 30;

// A list of calls: x is written, doubled and halved in turn, and read.
class CudaGraphs : public CudaTest {
 protected:
  // factor: of scaling number `at`; 0: a zero is added instead.
  std::vector<float> run(const std::vector<float>& values, int at = 0, float factor = 2.0f) {
    x_.resize(*host_, 1, values.size());
    host_->write(x_.values, 0, values.data(), values.size() * sizeof(float));
    for (int i = 0; i < kScalings; ++i)
      if (i == at && factor == 0.0f)
        add_bias(*host_, zero_, x_);
      else
        scale_rows(*host_, i == at ? factor : i % 2 == 0 ? 2.0f : 0.5f, x_);
    return values_of(*host_, x_);
  }
  void SetUp() override {
    CudaTest::SetUp();
    host_ = open();
    zero_ = Values::of(*host_, {0.0f});
    host_->read(zero_.buffer, 0, nullptr, 0);
    EXPECT_EQ(run({1, 2, 3}), Floats({1, 2, 3}));
    driver::reset_counts();
  }
  void TearDown() override {
    x_ = Rows();
    zero_ = Values();
    host_.reset();
    CudaTest::TearDown();
  }

  std::unique_ptr<Host> host_;
  Rows x_;
  Values zero_;
};

TEST_F(CudaGraphs, RepeatedCallsAreLaunchedAtOnce) {
  for (float value = 1; value < 5; ++value)
    EXPECT_EQ(run({value, 5, 6}), Floats({value, 5, 6}));  // copies read what is written now
  EXPECT_EQ(driver::n_calls("cuGraphLaunch"), 4u);
  EXPECT_EQ(driver::n_calls("cuGraphInstantiateWithFlags"), 1u);
  EXPECT_EQ(driver::n_calls("cuLaunchKernel"), kScalings);  // captured once
  EXPECT_EQ(driver::held().graphs, 0u);
  EXPECT_EQ(driver::held().executables, 1u);
}

TEST_F(CudaGraphs, ChangedCallsUpdateTheGraph) {
  EXPECT_EQ(run({1, 2, 3}), Floats({1, 2, 3}));
  EXPECT_EQ(run({1, 2, 3}, 4, 6.0f), Floats({3, 6, 9}));
  EXPECT_EQ(run({1, 2}, 4, 6.0f), Floats({3, 6}));  // all calls, once
  EXPECT_EQ(driver::n_calls("cuGraphExecUpdate_v2"), 1u);
  EXPECT_EQ(driver::n_calls("cuGraphLaunch"), 2u);
  EXPECT_EQ(driver::n_calls("cuLaunchKernel"), 3u * kScalings);
  EXPECT_EQ(driver::held().executables, 0u);
}

TEST_F(CudaGraphs, OtherCallsAreMadeOneByOne) {
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    EXPECT_EQ(run({value}, 28, 0.0f), Floats({value / 2}));
    EXPECT_EQ(run({value}), Floats({value}));
    scale_rows(*host_, 1.0f, x_);
    EXPECT_EQ(run({value}), Floats({value}));
  }
  EXPECT_EQ(driver::n_calls("cuGraphLaunch"), 0u);
}

TEST_F(CudaGraphs, ShortListsLeaveTheGraph) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run({1, 2}), Floats({1, 2}));
    scale_rows(*host_, 2.0f, x_);
    EXPECT_EQ(values_of(*host_, x_), Floats({2, 4}));
  }
  EXPECT_EQ(driver::n_calls("cuGraphInstantiateWithFlags"), 1u);
  EXPECT_EQ(driver::n_calls("cuGraphLaunch"), 2u);
}

TEST_F(CudaGraphs, WhatCannotBeAGraphIsMadeCallByCall) {
  for (const char* function :
       {"cuStreamBeginCapture_v2", "cuLaunchKernel", "cuGraphInstantiateWithFlags"}) {
    driver::fail(function, 1, driver::kNoMemory);
    EXPECT_EQ(run({1, 2}), Floats({1, 2})) << function;
    EXPECT_EQ(run({1, 2}), Floats({1, 2})) << function;
    EXPECT_EQ(run({1, 2}, 0, 0.0f), Floats({0.5f, 1})) << function;
    EXPECT_EQ(run({1, 2}), Floats({1, 2})) << function;
  }
}

TEST_F(CudaGraphs, AGraphThatCannotBeUpdatedIsMadeAnew) {
  run({1, 2, 3});
  driver::fail("cuGraphExecUpdate_v2", 1, driver::kUpdateFailed);
  EXPECT_EQ(run({1, 2, 3}, 4, 6.0f), Floats({3, 6, 9}));
  EXPECT_EQ(driver::n_calls("cuGraphInstantiateWithFlags"), 2u);
  EXPECT_EQ(driver::held().executables, 1u);
}

TEST_F(CudaGraphs, AFailedLaunchIsReported) {
  run({1, 2, 3});
  driver::fail("cuGraphLaunch", 1, driver::kNoMemory);
  EXPECT_EQ(thrown_by([&] { run({1, 2, 3}); }), "Test GPU: cuGraphLaunch: out of memory");
  EXPECT_EQ(run({1, 2, 3}), Floats({1, 2, 3}));
}

TEST_F(CudaGraphs, ReleasedMemoryServesCallsThatAreHeld) {
  run({1, 2, 3});
  const size_t n = driver::held().memory;
  x_ = rows_of(*host_, {7, 8, 9});
  const Rows other = rows_of(*host_, {1});
  EXPECT_EQ(run({1, 2, 3}), Floats({1, 2, 3}));
  EXPECT_EQ(driver::held().memory, n + 1);
}

// The driver breaks a capture by a call that may wait, and finds memory that is freed too early.
TEST_F(CudaTest, TheDriverKnowsTheRules) {
  const std::unique_ptr<Host> host = open();
  cuda::Stream* stream = nullptr;
  cuda::Graph* graph = nullptr;
  cuda::DevicePointer memory = 0;
  const cuda::Api& api = cuda::api();
  ASSERT_EQ(api.cuStreamCreate(&stream, cuda::kNonBlocking), 0);
  ASSERT_EQ(api.cuMemAlloc_v2(&memory, 8), 0);
  EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), driver::kCaptureUnmatched);
  ASSERT_EQ(api.cuStreamBeginCapture_v2(stream, cuda::kCaptureOfThread), 0);
  EXPECT_EQ(api.cuMemFree_v2(memory), driver::kCaptureUnsupported);
  EXPECT_EQ(api.cuMemsetD8Async(memory, 1, 8, stream), driver::kCaptureInvalidated);
  EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), driver::kCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(api.cuMemsetD8Async(memory, 1, 9, stream), driver::kInvalidValue);
  EXPECT_EQ(api.cuMemsetD8Async(memory, 1, 8, stream), 0);
  EXPECT_EQ(api.cuMemFree_v2(memory), 0);
  EXPECT_EQ(api.cuStreamSynchronize(stream), driver::kIllegalAddress);
  EXPECT_EQ(api.cuMemAlloc_v2(&memory, 8), driver::kIllegalAddress);
}

}  // namespace
}  // namespace pando::exec::gpu
