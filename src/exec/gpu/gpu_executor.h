// Runs steps on a GPU, or on the emulation.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "contract/executor.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/gpu/forward_pass.h"
#include "exec/gpu/host.h"
#include "exec/gpu/weights.h"

namespace pando::exec {

// A model's weights, and the host that holds them. Executors take turns on the host.
struct HostedModel {
  std::unique_ptr<gpu::Host> host;
  gpu::Weights weights;
  mutable std::mutex turn;
};

// Runs one step at a time: `submit` keeps the plan, `finish` runs it. Measures no times.
class GpuExecutor final : public StageExecutor {
 public:
  // The model outlives this. sizes: those of options.kv. Throws std::bad_alloc, and
  // std::runtime_error if the host fails.
  GpuExecutor(const HostedModel& model, const ExecutorOptions& options, const KvSizes& sizes);
  ~GpuExecutor() override;

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t n) override;
  void logits(uint32_t first, uint32_t n, float* out) override;
  // Copies only wanted logits from the device.
  bool logits_or_largest(uint32_t first, const std::vector<bool>& is_wanted, float* out,
                         Token* largest) override;
  const float* compute(const StepPlan& plan, RowRange own, const float* before) override;
  void logits_of(const float* hidden, uint32_t n, float* out) override;
  // The constructor allocates all memory.
  bool prepare(size_t /*n_touched*/, size_t /*n_windows_touched*/) override { return false; }
  size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const override;
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return {}; }

 private:
  ExecutorFacts facts_;
  const HostedModel& model_;
  std::unique_ptr<gpu::ForwardPass> pass_;
  std::deque<StepPlan> submitted_;
  const float* hidden_ = nullptr;  // of the last step, if it was read
};

}  // namespace pando::exec
