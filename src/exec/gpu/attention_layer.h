// The attention of a model's layers on a host, from normed rows to those that the output projection
// reads.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/executor.h"
#include "contract/model_spec.h"
#include "contract/step_plan.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/gpu/attention.h"
#include "exec/gpu/head_ops.h"
#include "exec/gpu/host.h"
#include "exec/gpu/page_ops.h"
#include "exec/gpu/products.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/weights.h"

namespace pando::exec::gpu {

// Has the memory of keys and values.
class AttentionLayers {
 public:
  // spec: of the stage. It outlives this, as the host and the products do. sizes: those of
  // options.kv. Throws std::bad_alloc.
  AttentionLayers(Host& host, const model::ModelSpec& spec, const ExecutorOptions& options,
                  const KvSizes& sizes, Products& products);

  // Begins a step: takes its lists and carries out its copies.
  void begin(const StepPlan& plan);
  // Writes keys and values of normed rows to their slots, and attends by the plan's tasks.
  // attended becomes [n_rows, attended_dim].
  void run(int layer, const LayerWeights& weights, const Rows& h, Rows& attended);

 private:
  // The pages of all layers, or of those with a window, and the step's lists for them.
  struct Pages {
    PagePool pool;
    List<uint32_t> slot_begin;
    List<KvSlot> slots;
  };
  void begin(Pages& pages, std::span<const PageCopy> copies, const std::vector<uint32_t>& begins,
             const std::vector<KvSlot>& slots);

  Host& host_;
  const model::ModelSpec& spec_;
  Products& products_;
  bool poison_pages_;
  Rotations rotations_;
  std::vector<KvPlace> places_;  // [n_layers]
  Pages pages_, windows_;
  Attention attention_;
  List<uint32_t> positions_;
  std::vector<List<float>> growth_;  // of each rotation
  Rows all_, spare_;
};

}  // namespace pando::exec::gpu
