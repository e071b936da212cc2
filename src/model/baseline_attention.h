// Attention as published techniques do it, where a plan asks for that.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernel/attention.h"
#include "step/step_plan.h"

namespace pando::model {

// Owned by one engine, used by its thread. The engine's own planners never come here.
class BaselineAttention {
 public:
  static bool does(const StepPlan& plan) { return !plan.expanded.empty(); }

  // As kernel::attention; q and out of `args` have the rows of the plan.
  void run(const kernel::Kernels& kernels, ThreadPool& pool, const StepPlan& plan,
           const kernel::AttentionArgs& args, kernel::AttentionScratch& scratch);

 private:
  std::vector<float> q_, out_;  // [n_expanded, n_heads, head_dim] f32
};

}  // namespace pando::model
