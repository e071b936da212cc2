// The forward pass of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "comm/comm.h"
#include "kernel/attention.h"
#include "kernel/linear.h"
#include "model/baseline_attention.h"
#include "model/rope.h"
#include "model/weights.h"
#include "step/step_plan.h"

namespace pando::model {

// Where the time of forward passes went, summed.
struct PhaseTimes {
  double linear_s = 0;      // matrix products, the LM head included
  double attention_s = 0;   // tiles of keys and values
  double row_ops_s = 0;     // norms, rotation, page writes, activations and their packing
  double linear_flops = 0;  // 2 M N K of every matrix product
};

// Executes StepPlans and reads nothing else: no tree, no requests. Owned by one engine, used by its
// thread, works on its pool. Row by row the arithmetic is that of docs/arithmetic.md.
class Transformer {
 public:
  Transformer(const Weights& weights, const kernel::Kernels& kernels, ThreadPool& pool, Comm& comm,
              int max_positions);

  // Runs the plan's copies and rows. Returns the hidden states after the final norm of the plan's
  // outputs, [n_outputs, d_model] f32, valid until the next call.
  const float* forward(const StepPlan& plan, const kernel::KvView& kv);

  // The LM head: hidden [n, d_model] f32 -> logits [n, vocab] f32.
  void logits(const float* hidden, int n, float* out);

  const PhaseTimes& times() const { return times_; }

 private:
  // Activations of a step, rows outermost, f32.
  struct Buffers {
    AlignedBuffer x;          // [n_rows, d_model] residual stream
    AlignedBuffer qkv;        // [n_rows, (n_heads + 2 n_kv_heads) * head_dim]
    AlignedBuffer attended;   // [n_rows, n_heads * head_dim]
    AlignedBuffer projected;  // [n_rows, d_model] what x has still to be given: see pending_
    AlignedBuffer gate_up;    // [n_rows, 2 d_ff]
    AlignedBuffer unpacked;   // [n_rows, inputs] where one packing does not serve a stack
    AlignedBuffer hidden;     // [n_outputs, d_model]
  };

  void resize(const StepPlan& plan);
  void embed(const StepPlan& plan);
  void attend(int layer, const StepPlan& plan, const kernel::KvView& kv);
  void rotate(const LayerWeights& layer, const StepPlan& plan, uint32_t row, float* qkv);
  void finish_layer(const LayerWeights& layer, uint32_t n_rows);
  void keep_outputs(const StepPlan& plan);
  // y = x w^T of the residual stream, settled, and normed unless norms come behind.
  void enter(std::span<const kernel::PackedMatrix> w, const std::vector<float>& norm,
             uint32_t n_rows, float* y);
  void norm_row(const std::vector<float>& weight, uint32_t row, uint32_t n_rows, float* out);
  void settle(uint32_t row);
  // y = x w^T with the rows that `source` yields; y's are as many values apart as w has outputs.
  void linear(std::span<const kernel::PackedMatrix> w, uint32_t n_rows, kernel::RowSource source,
              float* y);
  // Fault::kSplitSumOverK, of the rows in buffers_.unpacked.
  void multiply_halves(const kernel::PackedMatrix& w, int m, float* y, int64_t y_stride);
  // What ends a part of a layer: the product goes to buffers_.projected, summed over the ranks, and
  // is pending. bias: [d_model] or empty; norm: [d_model], read where norms come behind.
  void project(const kernel::PackedMatrix& w, std::span<const float> bias,
               std::span<const float> norm, uint32_t n_rows, kernel::RowSource source);

  const Weights& weights_;
  const ModelConfig& config_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  Comm& comm_;
  int context_;  // longest sequence in tokens
  RopeTable rope_;
  float query_scale_;  // log2(e) / sqrt(head_dim)
  // What is done to a row of buffers_.projected before it is added to the residual stream, which is
  // when the row is read next.
  struct Pending {
    bool any = false;
    std::span<const float> bias, norm;
  };

  Buffers buffers_;
  Pending pending_;
  kernel::PackedRows packed_;
  kernel::AttentionScratch attention_scratch_;
  BaselineAttention baseline_attention_;
  PhaseTimes times_;
};

}  // namespace pando::model
