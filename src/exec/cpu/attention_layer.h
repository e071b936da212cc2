// The attention of decoder layers, from the residual stream to attended rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "exec/cpu/gather_rows.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/latent_attention.h"
#include "exec/cpu/layer_attention.h"
#include "exec/cpu/products.h"
#include "exec/cpu/residual_stream.h"
#include "exec/cpu/rows.h"
#include "exec/executor.h"
#include "kernel/attention.h"
#include "model/rope.h"
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
  float* row(int layer, uint32_t row) {
    return latent_ ? latent_->row(row) : attended_.as<float>() + size_t{row} * parts_[layer].q_dim;
  }
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
  // What a row of qkv_ has of a layer: queries, gates as many, keys, values.
  struct Parts {
    model::Heads heads;
    // keys, values: where they begin, which for latents is one place; kv_dim: 0 of a layer with
    // none
    size_t q_dim, keys, values, kv_dim, row_len;
  };
  Pages pages_of(int layer, const StepPlan& plan, const KvViews& kv) const;
  void join_and_norm(const Parts& parts, const model::LayerWeights& weights, uint32_t n_rows,
                     float* qkv);
  void add_bias(const model::LayerWeights& weights, float* qkv) const;
  void norm_all_heads(const model::LayerWeights& weights, float* q, size_t q_dim, float* k,
                      size_t k_dim) const;
  void rotate(int layer, const model::LayerWeights& weights, uint32_t pos, float* qkv);
  void attend(int layer, const model::LayerWeights& weights, const StepPlan& plan,
              const Pages& pages, const kernel::NewKeys& keys);
  const float* sink_scores(const model::LayerWeights& weights);

  const model::ModelConfig& config_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  AttentionOptions options_;
  std::optional<LatentAttention> latent_;
  bool joins_heads_;                     // norms over all heads need those of other ranks
  std::vector<Parts> parts_;             // [n_layers]
  std::vector<KvPlace> places_;          // [n_layers]
  std::vector<model::RopeTable> ropes_;  // one for each rotation and size of heads
  std::vector<size_t> rope_of_;          // [n_layers], index into ropes_
  std::vector<float> ones_;              // [head_dim of any layer]: weights of a norm without any
  float score_cap_;                      // of scores, log2(e) included
  std::vector<float> sinks_;             // [n_heads] of the layer at hand, the same
  PhaseTimes& times_;
  // [n_rows, (n_heads, gates as n_heads, 2 n_kv_heads) * head_dim] f32; with latents keys are
  // values, and there once.
  AlignedBuffer qkv_;
  AlignedBuffer attended_;  // [n_rows, n_heads * head_dim] f32
  // Queries and keys for norms over all heads, [n_rows, (n_heads + n_kv_heads) * head_dim] f32 of
  // this rank and of all.
  AlignedBuffer own_, joined_;
  kernel::AttentionScratch scratch_;
};

}  // namespace pando::exec
