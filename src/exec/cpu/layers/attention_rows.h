// The rows before and behind attention: how rows of the residual stream become queries, keys and
// values, and how attended rows become those that the output projection reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/model_spec.h"
#include "exec/cpu/kernel/linear.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/pack/layer_weights.h"

namespace pando::exec {

// Parts of a row of one layer: queries, as many gates if the model has them, keys and values.
struct QkvParts {
  model::Heads heads;
  // keys, values: where they begin, which for latents is one place; kv_dim: 0 of a layer with none
  size_t q_dim, keys, values, kv_dim, row_len;
};

// Owned by one AttentionLayer, used by its thread.
class AttentionRows {
 public:
  virtual ~AttentionRows() = default;

  virtual QkvParts parts(int layer) const = 0;
  // Computes all products up to attention for the n_rows rows of `source`, and exchanges with other
  // ranks. qkv: [n_rows, row_len] f32.
  virtual void project(int layer, const LayerWeights& weights, uint32_t n_rows,
                       kernel::RowSource source, float* qkv, Products& products) = 0;
  // Completes row `row` of these, at position pos, in its place qkv: norms and rotation. Any
  // thread.
  virtual void complete(int layer, const LayerWeights& weights, uint32_t row, uint32_t pos,
                        float* qkv) const = 0;
  // attended: [n_rows, q_dim] f32, which may be changed. Returns [n_rows, attended_dim(layer)] f32,
  // valid until the next call.
  virtual float* outputs(int layer, const LayerWeights& weights, uint32_t n_rows, const float* qkv,
                         float* attended, Products& products) = 0;
};

}  // namespace pando::exec
