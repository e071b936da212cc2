// Steps on the processors of this machine.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/state_layout.h"
#include "exec/cpu/transformer.h"
#include "exec/executor.h"
#include "model/weights.h"
#include "pando/result.h"

namespace pando::exec {

struct CpuOptions {
  std::string isa;        // as isa_name gives it
  int context = 0;        // positions of the longest sequence
  bool all_rows = false;  // see TransformerOptions
  PassHooks hooks;
  DType kv_type = DType::kF16;  // f32, f16, bf16 or int8
  size_t kv_memory = 0;         // bytes for keys, values and states
  size_t n_slots = 0;           // of states; 0: as many as kv_memory has room for
  size_t n_numbers = 0;         // pages, where a KvStore has the bytes
  int page_len = 32, tile_len = 64, span_len = 2048;  // positions
  bool poison_pages = false;  // fill fresh pages and slots with NaN: a test then sees reads of them
};

// One step at a time: `submit` keeps the plan, `finish` runs it.
class CpuExecutor final : public Executor {
 public:
  // kInvalidArgument where kv_memory holds no page, or more pages than PageId can number, or no two
  // states of a model that has states.
  static Status check_memory(const model::ModelConfig& config, const CpuOptions& options);
  // The instruction set of that name, or the best one for "", as facts().name has it.
  // kInvalidArgument for one that is not there.
  static Result<std::string> isa_name(std::string_view isa);
  // `weights` and `pool` outlive it; check_memory and isa_name have passed. Throws std::bad_alloc.
  CpuExecutor(const model::Weights& weights, ThreadPool& pool, const CpuOptions& options);

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t n) override;
  void logits(uint32_t first, uint32_t n, float* out) override;
  bool prepare(size_t n_touched) override { return memory_.prepare(n_touched); }
  size_t ready_bytes(size_t n_touched) const override { return memory_.ready_bytes(n_touched); }
  size_t kv_bytes(size_t n_used) const override;
  PhaseTimes times() const override { return transformer_.times(); }

 private:
  void poison(const StepPlan& plan) const;

  ExecutorFacts facts_;
  const KvStore* store_;  // null: keys and values are in memory_
  bool poison_pages_;
  StateLayout state_layout_;
  AlignedBuffer states_;  // slots, side by side
  KvMemory memory_;
  Transformer transformer_;
  std::deque<StepPlan> submitted_;
  const float* hidden_ = nullptr;  // [outputs of the last step, d_model]
};

// The layout of keys and values in pages.
kernel::KvShape kv_shape_of(const model::ModelConfig& config, const CpuOptions& options);

}  // namespace pando::exec
