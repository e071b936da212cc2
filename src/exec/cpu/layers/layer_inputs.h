// The inputs that each layer gets of a row's token itself, beside the residual stream.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/step_plan.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/layers/residual_stream.h"
#include "exec/cpu/pack/weights.h"

namespace pando::exec {

// docs/arithmetic.md, "Inputs of layers". Every rank computes all inputs of its stage's layers.
// Owned by one Transformer, used by its thread.
class LayerInputs {
 public:
  // first_layer: index in the model of the stage's first layer.
  LayerInputs(const Weights& weights, int first_layer, const kernel::Kernels& kernels,
              ThreadPool& pool, PhaseTimes& times);

  bool empty() const { return dim_ == 0; }
  // Computes the inputs of a step's rows, which have these tokens and embeddings [n_rows, d_model]
  // f32, for all layers of the stage.
  void begin(std::span<const Token> tokens, const float* embeddings, Products& products);
  // Adds the projected inputs of a layer of the stage to the first n_rows rows of x.
  void add(int layer, uint32_t n_rows, ResidualStream& x, Products& products);
  // Moves the inputs of row `from` to row `to`.
  void move(uint32_t from, uint32_t to);

 private:
  float* row(uint32_t row) { return inputs_.as<float>() + size_t{row} * row_len_; }
  void add_table_row(Token token, float* row) const;

  const Weights& weights_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  PhaseTimes& times_;
  int dim_;               // inputs of a layer
  size_t first_;          // index of the stage's first input among those of all layers
  size_t row_len_;        // inputs of all layers of the stage
  AlignedBuffer inputs_;  // [n_rows, row_len] f32
  AlignedBuffer gates_;   // [n_rows, dim] f32
};

}  // namespace pando::exec
