// The attention of one layer as the forward pass calls it, and what ranks put in its place.
#pragma once

#include <functional>

#include "base/thread_pool.h"
#include "contract/step_plan.h"
#include "exec/cpu/kernel/attention.h"
#include "exec/cpu/kernel/kv_write.h"
#include "exec/cpu/layers/gather_rows.h"

namespace pando::exec {

// The arguments of a layer's attention. Keys and values of the rows are in their slots already.
struct LayerPass {
  const StepPlan& plan;
  int layer;                          // index of the layer in the model
  const kernel::AttentionArgs& args;  // positions and tasks are those of the plan
  const kernel::NewKeys& keys;        // keys and values of the plan's rows, before rounding
  const kernel::Kernels& kernels;
  ThreadPool& pool;
  kernel::AttentionScratch& scratch;
};

// Writes args.out, [own rows, n_heads, head_dim] f32.
using LayerAttention = std::function<void(const LayerPass&)>;

// Called where each rank computes some rows of a step. Brings the queries, keys and values of other
// rows that this rank reads. qkv: [n_rows, row_len] f32, of all rows.
using SpreadRows = std::function<void(float* qkv, size_t row_len)>;

// The exchange of a rank with the others of its stage.
struct RankExchange {
  GatherRows gather = {};         // empty: one rank has all outputs
  SpreadRows spread = {};         // empty: one rank computes all rows
  LayerAttention attention = {};  // over positions on several ranks; empty: kernel::attention
};

}  // namespace pando::exec
