// The attention of a model's layers, from normed rows to those that the output projection reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/model_spec.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/scalar/pages.h"
#include "exec/scalar/projections.h"
#include "exec/scalar/rotation.h"

namespace pando::exec::scalar {

class AttentionLayers {
 public:
  // spec: of the stage. It outlives this, as the pool does.
  AttentionLayers(const model::ModelSpec& spec, const KvOptions& options, ThreadPool& pool);

  // Writes keys and values of the plan's rows to their slots. Returns the queries.
  Rows write(int layer, const LayerWeights& weights, const StepPlan& plan, const KvViews& kv,
             const Rows& h) const;
  // Attends by the plan's tasks. last_of_texts: the last position of each row's text; empty: rows
  // see what is before them. [n_rows, attended_dim].
  Rows attend(int layer, const LayerWeights& weights, const StepPlan& plan, const KvViews& kv,
              const Rows& queries, std::span<const uint32_t> last_of_texts) const;
  size_t query_width(int layer) const;

 private:
  LayerPages pages_of(int layer, const StepPlan& plan, const KvViews& kv) const;

  const model::ModelSpec& spec_;
  ThreadPool& pool_;
  Rotations rotations_;
  std::vector<KvPlace> places_;  // [n_layers]
};

}  // namespace pando::exec::scalar
