// The attention of one layer as the forward pass calls it, and hooks for a technique's own.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/thread_pool.h"
#include "contract/executor.h"
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

// The model whose keys and values a technique keeps.
struct StoredModel {
  kernel::KvShape shape;
  int n_heads;          // query heads
  int n_threads;        // compute threads
  double row_products;  // cost of a row's products with all weights, in multiply-adds of f32
};

// Keys and values that a technique keeps itself. The engine's pages are numbers only then.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // Called once, before the first step. n_bytes: room for keys and values.
  virtual void open(const StoredModel& model, size_t n_bytes) = 0;
  virtual size_t n_bytes() const = 0;  // in use
};

// A published technique, or ranks that divide a model, put these in place of the executor's own.
struct PassHooks : ExecutorHooks {
  LayerAttention attention;  // empty: kernel::attention
  KvStore* store = nullptr;  // outlives the executor; null: pages hold keys and values
  GatherRows gather;         // empty: one rank has all outputs
  SpreadRows spread;         // empty: one rank computes all rows
};

inline std::shared_ptr<PassHooks> pass_hooks(LayerAttention attention, KvStore* store = nullptr) {
  auto hooks = std::make_shared<PassHooks>();
  hooks->attention = std::move(attention);
  hooks->store = store;
  return hooks;
}

}  // namespace pando::exec
