// The forward pass of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_vector.h"
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
  double row_ops_s = 0;     // norms, rotation, page writes, activations
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
    AlignedVector<float> x;          // [n_rows, d_model] residual stream
    AlignedVector<float> normed;     // [n_rows, d_model]
    AlignedVector<float> qkv;        // [n_rows, (n_heads + 2 n_kv_heads) * head_dim]
    AlignedVector<float> q;          // [n_rows, n_heads * head_dim]
    AlignedVector<float> attended;   // [n_rows, n_heads * head_dim]
    AlignedVector<float> projected;  // [n_rows, d_model]
    AlignedVector<float> gate_up;    // [n_rows, 2 d_ff]
  };

  void resize(uint32_t n_rows);
  void embed(const StepPlan& plan);
  void attend(int layer, const StepPlan& plan, const kernel::KvView& kv);
  void feed_forward(const LayerWeights& layer, uint32_t n_rows);
  void norm_rows(const float* x, const std::vector<float>& weight, uint32_t n_rows, float* out);
  void keep_outputs(const StepPlan& plan);
  const float* block_input(const std::vector<float>& norm, uint32_t n_rows);
  // bias: [d_model] of the projection, or empty; norm: [d_model], read where norms come behind.
  void add_to_residual(uint32_t n_rows, const std::vector<float>& bias,
                       const std::vector<float>& norm);
  // x rows lie x_stride apart, y rows as many values as w has outputs.
  void linear(std::span<const kernel::PackedMatrix> w, const float* x, int64_t x_stride,
              uint32_t n_rows, float* y);

  const Weights& weights_;
  const ModelConfig& config_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  Comm& comm_;
  int context_;  // longest sequence in tokens
  RopeTable rope_;
  float query_scale_;  // log2(e) / sqrt(head_dim)
  Buffers buffers_;
  kernel::LinearScratch linear_scratch_;
  kernel::AttentionScratch attention_scratch_;
  BaselineAttention baseline_attention_;
  PhaseTimes times_;
};

}  // namespace pando::model
