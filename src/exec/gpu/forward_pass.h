// The forward pass of a step on a host.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/executor.h"
#include "contract/step_plan.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/gpu/attention_layer.h"
#include "exec/gpu/feed_forward.h"
#include "exec/gpu/host.h"
#include "exec/gpu/layer_inputs.h"
#include "exec/gpu/products.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/weights.h"

namespace pando::exec::gpu {

// Executes StepPlans and needs no other input. Computes the stage that its weights belong to.
class ForwardPass {
 public:
  // Host and weights outlive this. sizes: those of options.kv. Throws std::bad_alloc.
  ForwardPass(Host& host, const Weights& weights, const ExecutorOptions& options,
              const KvSizes& sizes);

  // Runs the plan's copies and rows. before: [n_rows, d_model] f32, the rows from the stage before;
  // null for the first stage. Afterwards rows() has the plan's output rows, normed, in the last
  // stage, and all rows in other stages.
  void forward(const StepPlan& plan, const float* before);
  const Rows& rows() const { return result_; }
  // Waits for the end of the step. Throws std::runtime_error if the device failed in it.
  void wait() { host_.read(result_.values, 0, nullptr, 0); }
  // All of these, [n, d_model]. Valid until the next step.
  const float* read_rows();
  // Gives the logits of the wanted rows among rows() [first, first + n), and the ids of the largest
  // logits of the other rows (Executor::logits_or_largest). n: the size of is_wanted. out:
  // [n, vocab]; largest: [n], not used if all rows are wanted.
  void logits_or_largest(uint32_t first, const std::vector<bool>& is_wanted, float* out,
                         Token* largest);
  // hidden: [n, d_model] -> out: [n, vocab].
  void logits_of(const float* hidden, uint32_t n, float* out);

 private:
  void embed(std::span<const Token> tokens);
  const Rows& normed(const Values& norm, Rows& to);
  void run_layer(int layer);
  void add_feed_forward(int layer, const Rows& h);
  // Turns hidden_ into logits_.
  void finish_logits_of_hidden();
  // Reads rows [first, first + n) of logits_.
  void read_logits(uint32_t first, uint32_t n, float* out);

  Host& host_;
  const Weights& weights_;
  model::ModelSpec spec_;  // the stage's
  int first_layer_;        // the stage's first layer in the model
  Products products_;
  AttentionLayers attention_;
  FeedForwards feed_forwards_;
  LayerInputs layer_inputs_;
  Rows x_;                             // the residual stream
  Rows h_, before_, attended_, part_;  // of a layer
  Rows result_;
  Rows hidden_, logits_;
  Buffer largest_;  // ids, by row of logits_
  List<uint32_t> wanted_;
  std::vector<float> on_host_;
};

}  // namespace pando::exec::gpu
