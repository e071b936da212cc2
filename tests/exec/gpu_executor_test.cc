// Steps on a host whose calls return before they are carried out.
#include "exec/gpu/gpu_executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <stdexcept>

#include "exec/gpu/emulated_host.h"
#include "exec/gpu/gpu_device.h"
#include "model/make_model.h"
#include "model/opened_model.h"
#include "model/test_files.h"

namespace pando::exec {
namespace {

// A launch that fails is found by the next read, as drivers do it.
class LateHost final : public gpu::EmulatedHost {
 public:
  explicit LateHost(const bool& fails) : fails_(fails) {}

  void launch(gpu::Kernel kernel, gpu::Groups groups, std::span<const gpu::Arg> args) override {
    if (!fails_) return EmulatedHost::launch(kernel, groups, args);
    is_lost_ = true;
  }
  void read(const gpu::Buffer& from, size_t offset, void* to, size_t n) override {
    if (is_lost_) throw std::runtime_error("the device is lost");
    EmulatedHost::read(from, offset, to, n);
  }

 private:
  const bool& fails_;
  bool is_lost_ = false;
};

// One row, whose logits nobody reads.
StepPlan plan_of_one_row() {
  StepPlan plan;
  plan.tokens = {1};
  plan.positions = {0};
  plan.slot_begin = {0, 1};
  plan.slots = {{0, 0}};
  plan.tasks = {{0, 0, 1, 0, 1}};
  plan.task_pages = {0};
  return plan;
}

TEST(GpuExecutor, FinishThrowsWhatTheStepMeets) {
  const TemporaryFolder folder;
  ASSERT_TRUE(model::make_model({.shape = "tiny-llama", .out = folder.path()}).ok());
  const Result<model::OpenedModel> files = model::OpenedModel::open(folder.path());
  ASSERT_TRUE(files.ok()) << files.error().message();

  bool fails = false;
  const auto make_host = [&] {
    return Result<std::unique_ptr<gpu::Host>>(std::make_unique<LateHost>(fails));
  };
  const GpuDevice device({"late", [] { return gpu::Offer{}; }, make_host, make_host});
  ThreadPool pool(1);
  const Result<std::unique_ptr<DeviceModel>> loaded =
      device.load(files->config, *files, {}, pool);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  const KvOptions kv{.memory = size_t{1} << 20, .context = 64};
  const Result<KvRoom> room = device.kv_room(files->config, kv);
  ASSERT_TRUE(room.ok()) << room.error().message();
  const std::unique_ptr<StageExecutor> executor = (*loaded)->open({.kv = kv}, *room, pool);

  executor->submit(plan_of_one_row());
  EXPECT_NO_THROW(executor->finish());
  fails = true;
  executor->submit(plan_of_one_row());
  EXPECT_THROW(executor->finish(), std::runtime_error);
}

}  // namespace
}  // namespace pando::exec
