// Attention of one layer as the forward pass calls it, and what a technique may have in its place.
#pragma once

#include <functional>

#include "base/thread_pool.h"
#include "kernel/attention.h"
#include "kernel/kv_write.h"
#include "step/step_plan.h"

namespace pando::exec {

// What a layer's attention is given. Keys and values of the rows are in their slots already.
struct LayerPass {
  const StepPlan& plan;
  int layer;                          // of the model
  const kernel::AttentionArgs& args;  // positions and tasks are those of the plan
  const kernel::NewKeys& keys;        // of the plan's rows, as they were before rounding
  const kernel::Kernels& kernels;
  ThreadPool& pool;
  kernel::AttentionScratch& scratch;
};

// Writes args.out, [n_rows, n_heads, head_dim] f32.
using LayerAttention = std::function<void(const LayerPass&)>;

// What pages hold.
enum class KvPages {
  kAllLayers,
  kOneLayer,  // that all layers of a step write in turn: keys and values are gone behind a layer
  kNothing,   // they are numbers only: a KvStore has keys and values
};

// Keys and values that a technique keeps itself.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // Before the first step; once.
  virtual void open(const kernel::KvShape& shape, size_t n_bytes) = 0;
  virtual size_t n_bytes() const = 0;  // in use
};

// What a published technique has in place of the engine's own.
struct PassHooks {
  LayerAttention attention;  // empty: kernel::attention
  KvPages pages = KvPages::kAllLayers;
  KvStore* store = nullptr;  // for kNothing; lives longer
};

}  // namespace pando::exec
