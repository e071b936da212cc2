// Steps on the processors of this machine.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/state_layout.h"
#include "exec/cpu/transformer.h"
#include "exec/executor.h"
#include "model/weights.h"
#include "pando/result.h"

namespace pando::exec {

struct CpuOptions {
  std::string isa;  // as isa_name gives it
  KvOptions kv;
  bool all_rows = false;  // see TransformerOptions
  PassHooks hooks;
  GatherRows gather = {};     // where the weights are those of one of several ranks
  SpreadRows spread = {};     // where several ranks deal rows
  size_t n_numbers = 0;       // pages, where a KvStore has the bytes
  bool poison_pages = false;  // fill fresh pages and slots with NaN: a test then sees reads of them
};

// One step at a time: `submit` keeps the plan, `finish` runs it.
class CpuExecutor final : public Executor {
 public:
  // The instruction set of that name, or the best one for "", as facts().name has it.
  // kInvalidArgument for one that is not there.
  static Result<std::string> isa_name(std::string_view isa);
  // `weights` and `pool` outlive it; sizes: of options.kv. Throws std::bad_alloc.
  CpuExecutor(const model::Weights& weights, ThreadPool& pool, const CpuOptions& options,
              const KvSizes& sizes);

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t n) override;
  void logits(uint32_t first, uint32_t n, float* out) override;

  // The step of a rank at once, without submit: Transformer::forward.
  const float* compute(const StepPlan& plan, RowRange own, const float* before);
  // The logits of final hidden states, [n, d_model] f32.
  void logits_of(const float* hidden, uint32_t n, float* out) {
    transformer_.logits(hidden, n, out);
  }
  bool prepare(size_t n_touched, size_t n_windows_touched) override {
    return memory_.prepare(n_touched) || windows_.prepare(n_windows_touched);
  }
  size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const override {
    return memory_.ready_bytes(n_touched) + windows_.ready_bytes(n_windows_touched);
  }
  size_t kv_bytes(size_t n_used) const override;
  PhaseTimes times() const override { return transformer_.times(); }

 private:
  void poison(const StepPlan& plan) const;

  ExecutorFacts facts_;
  const KvStore* store_;  // null: keys and values are in memory_ and windows_
  bool poison_pages_;
  AlignedBuffer states_;  // slots, side by side
  KvMemory memory_;
  KvMemory windows_;
  Transformer transformer_;
  std::deque<StepPlan> submitted_;
  const float* hidden_ = nullptr;  // [outputs of the last step, d_model]
};

}  // namespace pando::exec
