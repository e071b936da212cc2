// Layers that carry a state from row to row: docs/arithmetic.md, "Recurrent layers".
#pragma once

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "contract/step_plan.h"
#include "exec/cpu/kernel/state_layout.h"
#include "exec/scalar/rows.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

// Carries out the plan's state tasks and state writes for one layer, whose part of the slots is
// `view`: the last inputs of its convolution, [conv_taps - 1, channels], then the states of its
// heads, [n_heads, key_dim, value_dim]. h: normed rows. Returns what the output projection reads.
Rows recur(const model::ModelSpec& spec, int layer, const LayerWeights& weights,
           const StepPlan& plan, const kernel::StateView& view, const Rows& h, ThreadPool& pool);

}  // namespace pando::exec::scalar
