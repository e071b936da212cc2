// Steps on the processors of this machine.
#pragma once

#include <deque>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/pack/weights.h"
#include "exec/cpu/state_layout.h"
#include "exec/cpu/text_memory.h"
#include "exec/cpu/transformer.h"

namespace pando::exec {

// Facts of an executor with memory of these sizes.
ExecutorFacts facts_of(const Weights& weights, const ExecutorOptions& options,
                       const KvSizes& sizes);

// One step at a time: `submit` keeps the plan, `finish` runs it.
class CpuExecutor final : public StageExecutor {
 public:
  // `weights` and `pool` outlive it. sizes: those of options.kv. exchange: of a rank whose stage
  // has several. Throws std::bad_alloc.
  CpuExecutor(const Weights& weights, ThreadPool& pool, const ExecutorOptions& options,
              const KvSizes& sizes, const RankExchange& exchange = {});

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t n) override;
  void logits(uint32_t first, uint32_t n, float* out) override;

  const float* compute(const StepPlan& plan, RowRange own, const float* before) override;
  void logits_of(const float* hidden, uint32_t n, float* out) override {
    transformer_.logits(hidden, n, out);
  }
  bool prepare(size_t n_touched, size_t n_windows_touched) override {
    return memory_.prepare(n_touched) || windows_.prepare(n_windows_touched);
  }
  size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const override {
    return memory_.ready_bytes(n_touched) + windows_.ready_bytes(n_windows_touched);
  }
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return transformer_.times(); }

 private:
  // Fresh pages and slots. A slot is fresh if it is written.
  void poison(const StepPlan& plan) const;
  void poison_texts(const StepPlan& plan) const;

  ExecutorFacts facts_;
  bool poison_pages_;
  AlignedBuffer states_;  // slots, side by side
  KvMemory memory_;
  KvMemory windows_;
  TextMemory texts_;
  Transformer transformer_;
  std::deque<StepPlan> submitted_;
  const float* hidden_ = nullptr;  // [outputs of the last step, d_model]
};

}  // namespace pando::exec
