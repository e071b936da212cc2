// The forward pass of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "exec/cpu/attention_layer.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/products.h"
#include "exec/cpu/recurrent_layer.h"
#include "exec/cpu/residual_stream.h"
#include "exec/cpu/state_layout.h"
#include "exec/executor.h"
#include "model/weights.h"
#include "step/step_plan.h"

namespace pando::exec {

// Joins the parts of rows that the ranks of a stage have computed, as model::part_of divides them.
// own: [n_rows, own part] f32; all: [n_rows, n] f32, the same on every rank.
using GatherRows = std::function<void(const float* own, uint32_t n_rows, int n, float* all)>;

// How a Transformer computes, besides its weights.
struct TransformerOptions {
  int context = 0;            // positions of the longest sequence
  LayerAttention attention;   // empty: kernel::attention
  bool window_pages = false;  // layers with a window have pages of their own
  // The last layer computes all rows, as the layers before it have to, though nothing reads most of
  // them: for timing a model of few layers in place of one of many. No output changes.
  bool all_rows = false;
  GatherRows gather = {};  // empty: one rank has all outputs
};

// Executes StepPlans and reads nothing else: no tree, no requests. Computes the share of a model
// that the weights are of. Owned by one executor, used by its thread, works on its pool. Row by row
// the arithmetic is that of docs/arithmetic.md.
class Transformer {
 public:
  Transformer(const model::Weights& weights, const kernel::Kernels& kernels, ThreadPool& pool,
              const TransformerOptions& options);

  // Runs the plan's copies and rows. `states`: the slots, which a model without recurrent layers
  // does not need. before: the rows that the stage before returned; null for the first stage.
  // Returns the hidden states of the plan's outputs after the final norm, [n_outputs, d_model] f32;
  // or of a stage that is not the last, all rows, [n_rows, d_model] f32. Valid until the next call.
  const float* forward(const StepPlan& plan, const KvViews& kv, const StateMemory& states,
                       const float* before = nullptr);

  // The LM head: hidden [n, d_model] f32 -> logits [n, vocab] f32.
  void logits(const float* hidden, uint32_t n, float* out);

  const PhaseTimes& times() const { return times_; }

 private:
  void embed(const StepPlan& plan);
  void mix(int i, const StepPlan& plan, const KvViews& kv, const StateMemory& states);
  float* mixed(int i, uint32_t row);
  void add_product(const kernel::PackedMatrix& w, uint32_t n_rows, kernel::RowSource source);
  float* gathered(const float* own, uint32_t n_rows, int n);
  void add_mixed(int i, uint32_t n_rows);
  void add_both(int i, uint32_t n_rows);
  void feed_forward(int i, uint32_t n_rows);
  void dense(const model::LayerWeights& layer, uint32_t n_rows);
  void gate_and_up(const model::LayerWeights& layer, std::span<const float> norm, uint32_t n_rows);
  void add_down(const model::LayerWeights& layer, uint32_t n_rows);
  void keep_outputs(const StepPlan& plan);

  const model::Weights& weights_;
  model::ModelConfig config_;  // of the share
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  bool all_rows_;
  GatherRows gather_;
  int d_ff_;  // of all ranks
  PhaseTimes times_;
  Products products_;
  ResidualStream x_;
  AttentionLayer attention_;
  StateLayout state_layout_;
  RecurrentLayer recurrent_;
  AlignedBuffer gate_up_;   // [n_rows, 2 d_ff] f32
  AlignedBuffer own_;       // [n_rows, own part] f32, where there are several ranks
  AlignedBuffer gathered_;  // [n_rows, all parts] f32
  AlignedBuffer hidden_;    // [n_outputs, d_model] f32
};

}  // namespace pando::exec
