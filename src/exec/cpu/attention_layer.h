// The attention of decoder layers, from the residual stream to attended rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "exec/cpu/attention_rows.h"
#include "exec/cpu/gather_rows.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/layer_attention.h"
#include "exec/cpu/products.h"
#include "exec/cpu/residual_stream.h"
#include "exec/cpu/rows.h"
#include "exec/executor.h"
#include "kernel/attention.h"
#include "model/weights.h"
#include "step/step_plan.h"

namespace pando::exec {

struct AttentionOptions {
  int context = 0;            // positions of the longest sequence
  bool window_pages = false;  // layers with a window have pages of their own
  LayerAttention attention;   // empty: kernel::attention
  SpreadRows spread = {};     // empty: all rows are computed here
  GatherRows gather;          // empty: one rank has all heads
  model::Share share;         // which of them are here
};

// Owned by one Transformer, used by its thread.
class AttentionLayer {
 public:
  AttentionLayer(const model::ModelConfig& config, const kernel::Kernels& kernels, ThreadPool& pool,
                 const AttentionOptions& options, PhaseTimes& times);

  void begin(uint32_t n_rows);  // room for the rows of a step
  // Writes the keys and values of all rows to their pages, where the layer has its own. x has the
  // rows `own` of the plan, and the attention of row own.begin + r goes to row(layer, r),
  // [dim(layer)] f32.
  void run(int layer, const model::LayerWeights& weights, const StepPlan& plan, RowRange own,
           const KvViews& kv, ResidualStream& x, Products& products);
  float* row(int layer, uint32_t row) { return outputs_ + size_t{row} * dim(layer); }
  int dim(int layer) const { return config_.attended_dim(layer); }

 private:
  // The pages that a layer reads and writes, and what a step does with them.
  struct Pages {
    kernel::KvView kv;
    int layer;  // of the pages
    std::span<const uint32_t> slot_begin;
    std::span<const kernel::KvSlot> slots;
    std::span<const kernel::PageId> task_pages;
  };
  Pages pages_of(int layer, const StepPlan& plan, const KvViews& kv) const;
  void attend(int layer, const model::LayerWeights& weights, const StepPlan& plan,
              const Pages& pages, const kernel::NewKeys& keys);
  const float* sink_scores(const model::LayerWeights& weights);

  const model::ModelConfig& config_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  AttentionOptions options_;
  std::unique_ptr<AttentionRows> rows_;
  std::vector<QkvParts> parts_;  // [n_layers]
  std::vector<KvPlace> places_;  // [n_layers]
  float score_cap_;              // of scores, log2(e) included
  std::vector<float> sinks_;     // [n_heads] of the layer at hand, the same
  PhaseTimes& times_;
  AlignedBuffer qkv_;         // [n_rows, row_len of the layer] f32
  AlignedBuffer attended_;    // [n_rows, n_heads * head_dim] f32
  float* outputs_ = nullptr;  // [n_rows, dim of the layer] f32
  kernel::AttentionScratch scratch_;
};

}  // namespace pando::exec
