// The forward pass of a step.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/step_plan.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/state_layout.h"
#include "exec/cpu/text_memory.h"
#include "exec/scalar/attention_layer.h"
#include "exec/scalar/rows.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

// Executes StepPlans and reads nothing else. Computes the stage that its weights belong to.
class ForwardPass {
 public:
  // Weights and pool outlive it.
  ForwardPass(const Weights& weights, const KvOptions& options, ThreadPool& pool);

  // Runs the plan's copies and rows. before: [n_rows, d_model] f32, the rows as the stage before
  // returned them; null for the first stage. Returns the plan's outputs behind the final norm; or
  // of a stage that is not the last, all rows.
  Rows forward(const StepPlan& plan, const KvViews& kv, const StateMemory& states,
               const float* before) const;
  // Does the same for the step's texts, pass by pass.
  Rows encode(const StepPlan& plan, const KvViews& kv, const TextMemory& memory,
              const float* before) const;
  // hidden: [n, d_model] -> out: [n, vocab].
  void logits(const float* hidden, uint32_t n, float* out) const;

 private:
  Rows embed(std::span<const Token> tokens) const;
  // learned: rows of the table of positions, one for each row; empty if the model has none.
  Rows embed_texts(const StepPlan& plan, std::span<const uint32_t> learned) const;
  Rows rows_before(const float* before, uint32_t n) const;
  Rows mix(int layer, const StepPlan& plan, const KvViews& kv, const StateMemory& states,
           const Rows& h) const;
  // The layer behind its mixer: the output projection of the mixed rows, and the feed-forward.
  void finish_layer(int layer, const Rows& mixed, Rows& x) const;
  // x += y, as the model adds what a part of a layer yields.
  void add_part(std::span<const float> bias, std::span<const float> norm, Rows y, Rows& x) const;

  const Weights& weights_;
  model::ModelSpec spec_;  // of the stage
  int first_layer_;        // of the stage, in the model
  ThreadPool& pool_;
  AttentionLayers attention_;
  StateLayout state_layout_;
};

}  // namespace pando::exec::scalar
