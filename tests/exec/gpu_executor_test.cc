// Steps on a host whose calls return before they are carried out, and the bytes that are read.
#include "exec/gpu/gpu_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "exec/gpu/emulated_host.h"
#include "exec/gpu/gpu_device.h"
#include "model/make_model.h"
#include "model/opened_model.h"
#include "model/test_files.h"
#include "reference/reference_sampler.h"

namespace pando::exec {
namespace {

// A launch that fails is found by the next read, as drivers do it.
class LateHost final : public gpu::EmulatedHost {
 public:
  struct State {
    bool fails = false;
    size_t n_read = 0;  // bytes
  };
  explicit LateHost(State& state) : state_(state) {}

  void launch(gpu::Kernel kernel, gpu::Groups groups, std::span<const gpu::Arg> args) override {
    if (!state_.fails) return EmulatedHost::launch(kernel, groups, args);
    is_lost_ = true;
  }
  void read(const gpu::Buffer& from, size_t offset, void* to, size_t n) override {
    if (is_lost_) throw std::runtime_error("the device is lost");
    state_.n_read += n;
    EmulatedHost::read(from, offset, to, n);
  }

 private:
  State& state_;
  bool is_lost_ = false;
};

// A tiny model on such a host.
class GpuExecutorTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kVocab = 80;  // logits of a row

  void SetUp() override {
    ASSERT_TRUE(
        model::make_model({.shape = "tiny-llama", .out = folder_.path(), .vocab = kVocab}).ok());
  }

  // logit_scale: the model's.
  std::unique_ptr<StageExecutor> open(float logit_scale) {
    files_.emplace(model::OpenedModel::open(folder_.path()).value());
    model::ModelSpec spec = files_->config;
    spec.logit_scale = logit_scale;
    loaded_ = device_.load(spec, *files_, {}, pool_).value();
    const KvOptions kv{.memory = size_t{1} << 20, .context = 128};
    return loaded_->open({.kv = kv}, device_.kv_room(spec, kv).value(), pool_);
  }

  LateHost::State state_;

 private:
  Result<std::unique_ptr<gpu::Host>> make_host() {
    return std::unique_ptr<gpu::Host>(std::make_unique<LateHost>(state_));
  }

  const GpuDevice device_{{"late", [] { return gpu::Offer{}; }, [this] { return make_host(); },
                           [this] { return make_host(); }}};
  ThreadPool pool_{1};
  const TemporaryFolder folder_;
  std::optional<model::OpenedModel> files_;
  std::unique_ptr<DeviceModel> loaded_;
};

// A path of n_rows rows, at most two tiles; the last n_outputs are outputs.
StepPlan plan_of(uint32_t n_rows, uint32_t n_outputs) {
  StepPlan plan;
  for (uint32_t row = 0; row < n_rows; ++row) {
    plan.tokens.push_back(static_cast<Token>(row * 7 % 61));
    plan.positions.push_back(row);
    plan.slot_begin.push_back(row);
    plan.slots.push_back({row / 32, row % 32});
    if (row >= n_rows - n_outputs) plan.outputs.push_back(row);
  }
  plan.slot_begin.push_back(n_rows);
  for (uint32_t page = 0; page * 32 < n_rows; ++page) plan.task_pages.push_back(page);
  const auto n_pages = static_cast<uint32_t>(plan.task_pages.size());
  plan.tasks = {{0, 0, n_rows, 0, std::min(n_pages, 2u)}};
  if (n_pages > 2) plan.tasks.push_back({1, 64, n_rows, 2, n_pages - 2});
  return plan;
}

TEST_F(GpuExecutorTest, FinishThrowsWhatTheStepMeets) {
  const std::unique_ptr<StageExecutor> executor = open(1.0f);
  executor->submit(plan_of(1, 0));
  EXPECT_NO_THROW(executor->finish());
  state_.fails = true;
  executor->submit(plan_of(1, 0));
  EXPECT_THROW(executor->finish(), std::runtime_error);
}

// Scales make logits equal, infinite, or NaN.
TEST_F(GpuExecutorTest, RowsGiveLogitsOrTheLargest) {
  constexpr uint32_t kRows = 70, kOutputs = 68, kFirst = 1;  // more than are computed at once
  constexpr uint32_t kRead = kOutputs - kFirst;
  for (const float scale : {1.0f, 0.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    const std::unique_ptr<StageExecutor> executor = open(scale);
    std::vector<float> expected(kRead * kVocab);
    executor->submit(plan_of(kRows, kOutputs));
    executor->finish();
    executor->logits(kFirst, kRead, expected.data());
    for (const uint32_t wanted_each : {1u, 3u, kRead + 1}) {
      std::vector<bool> is_wanted(kRead);
      for (uint32_t i = 0; i < kRead; ++i) is_wanted[i] = (i + 1) % wanted_each == 0;
      executor->submit(plan_of(kRows, kOutputs));
      executor->finish();
      std::vector<float> found(kRead * kVocab, -1.0f);
      std::vector<Token> largest(kRead, -1);
      state_.n_read = 0;
      EXPECT_TRUE(executor->logits_or_largest(kFirst, is_wanted, found.data(), largest.data()));
      const uint32_t n_wanted = kRead / wanted_each;
      EXPECT_EQ(state_.n_read, (n_wanted * kVocab + (wanted_each == 1 ? 0 : kRead)) * 4);
      for (uint32_t i = 0; i < kRead; ++i) {
        const std::span<const float> row = std::span(expected).subspan(i * kVocab, kVocab);
        if (is_wanted[i])
          EXPECT_EQ(std::memcmp(&found[i * kVocab], row.data(), row.size_bytes()), 0) << i;
        else
          EXPECT_EQ(largest[i], reference::sample(row, {}, 0, 0, 0, {}, {})) << scale << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace pando::exec
