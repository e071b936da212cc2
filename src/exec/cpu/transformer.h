// The forward pass of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/step_plan.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/layers/attention_layer.h"
#include "exec/cpu/layers/experts_layer.h"
#include "exec/cpu/layers/gather_rows.h"
#include "exec/cpu/layers/layer_inputs.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/layers/recurrent_layer.h"
#include "exec/cpu/layers/residual_stream.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/pack/weights.h"
#include "exec/cpu/state_layout.h"
#include "exec/cpu/text_memory.h"

namespace pando::exec {

// Options of a Transformer besides its weights.
struct TransformerOptions {
  int context = 0;            // positions of the longest sequence
  LayerAttention attention;   // empty: kernel::attention
  bool window_pages = false;  // layers with a window have pages of their own
  // The last layer computes all rows, as earlier layers do, though most are never read: for timing
  // a model of few layers in place of one of many. No output changes.
  bool all_rows = false;
  GatherRows gather = {};  // empty: one rank has all outputs
  SpreadRows spread = {};  // empty: one rank computes all rows
};

// Executes StepPlans and reads nothing else: no tree, no requests. Computes the share of a model
// that its weights belong to. Owned by one executor, used by its thread, works on its pool. The
// arithmetic of each row is that of docs/arithmetic.md.
class Transformer {
 public:
  Transformer(const Weights& weights, const kernel::Kernels& kernels, ThreadPool& pool,
              const TransformerOptions& options);

  // Runs the plan's copies and the rows `own`. `states`: the slots, which a model without recurrent
  // layers does not need. before: these rows as the stage before returned them; null for the first
  // stage. Returns the hidden states of those of the plan's outputs that are among the rows, after
  // the final norm, [n_outputs, d_model] f32; or of a stage that is not the last, all these rows,
  // [own rows, d_model] f32. Valid until the next call.
  const float* forward(const StepPlan& plan, RowRange own, const KvViews& kv,
                       const StateMemory& states, const float* before = nullptr);

  // Does the same for the step's texts, of a model whose rows see both ways. `before` and, of a
  // stage that is not the last, the result are the rows of the pass between both stages.
  const float* encode(const StepPlan& plan, const KvViews& kv, const TextMemory& memory,
                      const float* before = nullptr);

  // The share's part of the LM head: hidden [n, d_model] f32 -> logits [n, n_columns] f32.
  void logits(const float* hidden, uint32_t n, float* out);

  const PhaseTimes& times() const { return times_; }

 private:
  // Some rows of the step's texts.
  struct TextPart {
    std::vector<uint32_t> rows;
    StepPlan plan;                    // of these rows
    std::vector<uint32_t> last_seen;  // [rows] the last position of the row's text
  };

  void begin_texts(const StepPlan& plan);
  // learned: rows of the table of positions, one for each row; empty if the model has none.
  void enter_texts(const StepPlan& rows, std::span<const uint32_t> learned, const float* before);
  void add_to_embedding(uint32_t row, const model::Tensor* table, uint32_t index);
  void leave_texts(uint32_t n_rows);
  void keep_rows(const TextPart& part, int layer, const TextMemory& memory);
  void fetch_rows(const TextPart& part, int layer, const TextMemory& memory);
  void embed(std::span<const Token> tokens, float* out);
  void begin_layer_inputs(std::span<const Token> tokens);
  void mix(int i, const StepPlan& plan, RowRange own, const KvViews& kv, const StateMemory& states);
  float* mixed(int i, uint32_t row);
  int mixed_dim(int i) const;
  float* gathered_mixed(int i, uint32_t n_rows);
  void add_product(const kernel::PackedMatrix& w, uint32_t n_rows, kernel::RowSource source);
  float* gathered(const float* own, uint32_t n_rows, std::span<const int> sizes);
  void add_mixed(int i, uint32_t n_rows);
  void add_both(int i, uint32_t n_rows);
  void feed_forward(int i, uint32_t n_rows);
  void add_feed_forward(const LayerWeights& layer);
  void gate_and_up(const LayerWeights& layer, std::span<const float> norm, uint32_t n_rows);
  void down(const LayerWeights& layer, uint32_t n_rows);
  StepPlan leave_outputs(const StepPlan& plan, std::span<const uint32_t> outputs,
                         uint32_t first_row);
  void keep_outputs(std::span<const uint32_t> outputs, uint32_t first_row, bool with_mixed);

  const Weights& weights_;
  model::ModelSpec spec_;  // of the share
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  bool all_rows_;
  GatherRows gather_;
  int first_layer_;  // of the share, in the model
  // Layers of the share from this one on write no keys, and compute the rows of outputs only.
  int first_reader_;
  // The last layer of the share with a mixer; -1: none. Behind it only the rows of outputs matter.
  int last_mixer_;
  PhaseTimes times_;
  Products products_;
  ResidualStream x_;
  AttentionLayer attention_;
  StateLayout state_layout_;
  RecurrentLayer recurrent_;
  ExpertsLayer experts_;
  LayerInputs layer_inputs_;
  AlignedBuffer embeddings_;  // [n_rows, d_model] f32, in stages behind the first
  AlignedBuffer gate_up_;     // [n_rows, n_inner() * d_ff] f32
  AlignedBuffer own_;         // [n_rows, own part] f32, where there are several ranks
  AlignedBuffer gathered_;    // [n_rows, all parts] f32
  AlignedBuffer hidden_;      // [n_outputs, d_model] f32
};

}  // namespace pando::exec
