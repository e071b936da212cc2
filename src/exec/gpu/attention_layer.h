// The attention of a model's layers on a host: from normed rows to the input of the output
// projection.
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

// Owns the memory of keys and values.
class AttentionLayers {
 public:
  // Host, spec and products outlive this. spec: the stage's. sizes: those of options.kv. Throws
  // std::bad_alloc.
  AttentionLayers(Host& host, const model::ModelSpec& spec, const ExecutorOptions& options,
                  const KvSizes& sizes, Products& products);

  // Begins a step: copies its lists to the host and carries out its page copies.
  void begin(const StepPlan& plan);
  // Writes keys and values of normed rows to their slots, and attends by the plan's tasks.
  // attended becomes [n_rows, attended_dim].
  void run(int layer, const LayerWeights& weights, const Rows& h, Rows& attended);

 private:
  // A pool of pages, and the step's lists for it.
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
