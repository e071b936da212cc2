// Attention as published techniques do it, where a plan asks for that.
#pragma once

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernel/attention.h"
#include "kernel/kv_write.h"
#include "step/step_plan.h"

namespace pando::model {

// Owned by one engine, used by its thread. The engine's own planners never come here.
class BaselineAttention {
 public:
  BaselineAttention(const kernel::Kernels& kernels, ThreadPool& pool)
      : kernels_(kernels), pool_(pool) {}

  static bool does(const StepPlan& plan) {
    return !plan.expanded.empty() || plan.masked.n_rows() > 0 || !plan.levels.empty() ||
           plan.n_idle > 0 || plan.skips_attention;
  }

  // As kernel::attention; q and out of `args` have the rows of the plan, and tasks and positions
  // are the plan's.
  void run(const StepPlan& plan, const kernel::AttentionArgs& args, const kernel::NewKeys& keys,
           kernel::AttentionScratch& scratch);

 private:
  void run_expanded(const StepPlan& plan, const kernel::AttentionArgs& args,
                    kernel::AttentionScratch& scratch);
  void run_masked(const StepPlan& plan, const kernel::AttentionArgs& args,
                  const kernel::NewKeys& keys, kernel::AttentionScratch& scratch);
  kernel::KvView scratch_pages(const kernel::KvView& kv, size_t n_pages);

  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  AlignedBuffer q_, out_;  // [n_expanded, n_heads, head_dim] f32
  AlignedBuffer pages_;    // of one layer: keys and values of the pass only
};

}  // namespace pando::model
