// The recurrent layers of a model: from the residual stream to the rows that the output projection
// reads.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/step_plan.h"
#include "exec/cpu/kernel/state_layout.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/layers/residual_stream.h"
#include "exec/cpu/layers/state_segments.h"
#include "exec/cpu/pack/weights.h"

namespace pando::exec {

// Gated delta-nets, short convolutions and Mamba2 (docs/arithmetic.md, "Recurrent layers"). Threads
// divide first the channels of the convolution, then the slices of the heads' states. For each
// channel or slice, one thread goes through all tasks of the step in order. Owned by one
// Transformer, used by its thread.
class RecurrentLayer {
 public:
  // is_divided: the heads are those of one of several ranks. Groups of heads are not normed then.
  RecurrentLayer(const model::ModelSpec& spec, const kernel::Kernels& kernels, ThreadPool& pool,
                 PhaseTimes& times, bool is_divided = false);

  void begin(uint32_t n_rows);  // room for the rows of a step
  // Carries out the plan's state tasks and state writes for one layer. `view` is that layer's part
  // of the slots. The result for row r goes to row(r): [value_width] f32, or [channels] f32 for a
  // short convolution.
  void run(int layer, const LayerWeights& weights, const StepPlan& plan,
           const kernel::StateView& view, ResidualStream& x, Products& products);
  float* row(uint32_t row) { return mixed_.as<float>() + row * mixed_dim_; }
  int dim() const { return static_cast<int>(mixed_dim_); }  // of a row
  // Last operation of Mamba2 on a row: the norm over the heads of each group. y: [value_width] f32
  // of `shape`, which has all heads.
  void norm_groups(const LayerWeights& weights, const model::RecurrentConfig& shape,
                   float* y) const;

 private:
  // Offsets of the parts of a row, in values.
  struct Form {
    // In a projected row. conv: inputs of the convolution (of a short convolution: B). z: gates of
    // the output (of a short convolution: C). beta and decay: the values that these are made of.
    // end: length of the row.
    size_t conv = 0, z = 0, beta = 0, decay = 0, end = 0;
    // In a convolved row. Mamba2: B, C and x.
    size_t keys = 0, queries = 0, values = 0;
  };
  // One layer of one step.
  struct Pass {
    model::Mixer mixer;
    Form form;
    const LayerWeights& weights;
    const kernel::StateView& view;
    std::span<const StateSegment> segments;
  };

  Form form_of(model::Mixer mixer) const;
  void convolve(const Pass& pass);
  void convolve_block(const Pass& pass, int first, int n);
  void prepare(const Pass& pass, uint32_t row);
  void recur(const Pass& pass);
  void recur_slice(const Pass& pass, int head, int slice, float* work);
  void finish(const Pass& pass, uint32_t row);

  float* projected(const Pass& pass, uint32_t row) {
    return projected_.as<float>() + row * pass.form.end;
  }
  float* convolved(const Pass& pass, uint32_t row) {
    return convolved_.as<float>() + size_t{row} * pass.view.shape.channels;
  }
  // [n_heads] decays, [n_heads] beta or steps, [n_key_heads] products of key and query.
  float* factors(uint32_t row) { return factors_.as<float>() + row * factors_dim_; }

  const model::ModelSpec& spec_;
  const model::RecurrentConfig& shape_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  PhaseTimes& times_;
  bool is_divided_;
  float query_scale_ = 0;                                                      // 1 / sqrt(key_dim)
  size_t projected_dim_ = 0, channels_ = 0, mixed_dim_ = 0, factors_dim_ = 0;  // the widest
  AlignedBuffer projected_;  // [n_rows, outputs of qkv] f32
  AlignedBuffer convolved_;  // [n_rows, channels] f32
  AlignedBuffer factors_;    // [n_rows, 2 n_heads + n_key_heads] f32
  AlignedBuffer mixed_;      // [n_rows, value_width, or channels] f32
  AlignedBuffer zeros_;      // a slice, or a row of channels: the state before the first position
  AlignedBuffer work_;       // [threads, key_dim, 32] f32: states that are not kept
};

}  // namespace pando::exec
