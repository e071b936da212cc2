// Steps in plain loops.
#pragma once

#include <deque>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/text_memory.h"
#include "exec/scalar/forward_pass.h"
#include "exec/scalar/weights.h"

namespace pando::exec {

// One step at a time: `submit` keeps the plan, `finish` runs it. Times are not measured.
class ScalarExecutor final : public StageExecutor {
 public:
  // Weights and pool outlive it. sizes: those of options.kv. Throws std::bad_alloc.
  ScalarExecutor(const scalar::Weights& weights, ThreadPool& pool, const ExecutorOptions& options,
                 const KvSizes& sizes);

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t /*n*/) override { return rows_.row(first); }
  void logits(uint32_t first, uint32_t n, float* out) override {
    logits_of(rows_.row(first), n, out);
  }
  const float* compute(const StepPlan& plan, RowRange own, const float* before) override;
  void logits_of(const float* hidden, uint32_t n, float* out) override {
    pass_.logits(hidden, n, out);
  }
  bool prepare(size_t n_touched, size_t n_windows_touched) override {
    return memory_.prepare(n_touched) || windows_.prepare(n_windows_touched);
  }
  size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const override {
    return memory_.ready_bytes(n_touched) + windows_.ready_bytes(n_windows_touched);
  }
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return {}; }

 private:
  void poison(const StepPlan& plan) const;

  ExecutorFacts facts_;
  bool poison_pages_;
  AlignedBuffer states_;  // slots, side by side
  KvMemory memory_;
  KvMemory windows_;
  TextMemory texts_;
  scalar::ForwardPass pass_;
  std::deque<StepPlan> submitted_;
  scalar::Rows rows_;  // of the last step: outputs, or all rows of a stage that is not the last
};

}  // namespace pando::exec
