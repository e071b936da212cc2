// The attention of decoder layers, from the residual stream to attended rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/step_plan.h"
#include "exec/cpu/kernel/attention.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/layers/attention_rows.h"
#include "exec/cpu/layers/gather_rows.h"
#include "exec/cpu/layers/layer_attention.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/layers/residual_stream.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/pack/weights.h"

namespace pando::exec {

struct AttentionOptions {
  int context = 0;            // positions of the longest sequence
  bool window_pages = false;  // layers with a window have pages of their own
  LayerAttention attention;   // empty: kernel::attention
  SpreadRows spread = {};     // empty: all rows are computed here
  GatherRows gather;          // empty: one rank has all heads
  ModelShare share;           // part of them that is here
};

// Owned by one Transformer, used by its thread.
class AttentionLayer {
 public:
  AttentionLayer(const model::ModelSpec& spec, const kernel::Kernels& kernels, ThreadPool& pool,
                 const AttentionOptions& options, PhaseTimes& times);

  void begin(uint32_t n_rows);  // room for the rows of a step
  // Writes the keys and values of all rows to their pages, where the layer has its own. x has the
  // rows `own` of the plan, and the attention of row own.begin + r goes to row(layer, r),
  // [dim(layer)] f32.
  void run(int layer, const LayerWeights& weights, const StepPlan& plan, RowRange own,
           const KvViews& kv, ResidualStream& x, Products& products);
  // The halves of `run`, for texts, which write the keys of all rows before any row attends. The
  // plan is that of some rows of texts (rows_of_texts), all of which are here.
  void write(int layer, const LayerWeights& weights, const StepPlan& plan, RowRange own,
             const KvViews& kv, ResidualStream& x, Products& products);
  void attend(int layer, const LayerWeights& weights, const StepPlan& plan, RowRange own,
              std::span<const uint32_t> last_of_text, const KvViews& kv, Products& products);
  // Queries, keys and values of a row between the halves, as f32.
  float* projected(int layer, uint32_t row) {
    return qkv_.as<float>() + row * parts_[layer].row_len;
  }
  // Counts the queries and their gates among these, which attention needs; they come first.
  size_t query_len(int layer) const { return parts_[layer].keys; }
  float* row(int layer, uint32_t row) { return outputs_ + size_t{row} * dim(layer); }
  int dim(int layer) const { return spec_.attended_dim(layer); }

 private:
  // The pages that a layer reads and writes, and a step's lists for them.
  struct Pages {
    kernel::KvView kv;
    int layer;  // of the pages
    std::span<const uint32_t> slot_begin;
    std::span<const KvSlot> slots;
    std::span<const PageId> task_pages;
  };
  Pages pages_of(int layer, const StepPlan& plan, const KvViews& kv) const;
  std::span<const uint32_t> last_seen(int layer, const StepPlan& plan,
                                      std::span<const uint32_t> last_of_text);
  const float* sink_scores(const LayerWeights& weights);

  const model::ModelSpec& spec_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  AttentionOptions options_;
  std::unique_ptr<AttentionRows> rows_;
  std::vector<QkvParts> parts_;  // [n_layers]
  std::vector<KvPlace> places_;  // [n_layers]
  float score_cap_;              // of scores, log2(e) included
  std::vector<float> sinks_;     // [n_heads] of the layer at hand, the same
  std::vector<uint32_t> last_;   // [n_rows] the last position that a row of a text sees
  PhaseTimes& times_;
  AlignedBuffer qkv_;         // [n_rows, row_len of the layer] f32
  AlignedBuffer attended_;    // [n_rows, n_heads * head_dim] f32
  float* outputs_ = nullptr;  // [n_rows, dim of the layer] f32
  kernel::AttentionScratch scratch_;
};

}  // namespace pando::exec
