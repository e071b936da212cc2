// Steps on a GPU, or on what stands in for one.
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

// The weights of a model, and the host that has them. Executors take turns at it.
struct HostedModel {
  std::unique_ptr<gpu::Host> host;
  gpu::Weights weights;
  mutable std::mutex turn;
};

// One step at a time: `submit` keeps the plan, `finish` runs it. Times are not measured.
class GpuExecutor final : public StageExecutor {
 public:
  // The model outlives it. sizes: those of options.kv. Throws std::bad_alloc, and
  // std::runtime_error if the host fails.
  GpuExecutor(const HostedModel& model, const ExecutorOptions& options, const KvSizes& sizes);
  ~GpuExecutor() override;

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t n) override;
  void logits(uint32_t first, uint32_t n, float* out) override;
  const float* compute(const StepPlan& plan, RowRange own, const float* before) override;
  void logits_of(const float* hidden, uint32_t n, float* out) override;
  // All memory is there from the start.
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
