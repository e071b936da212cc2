// Per-layer inputs on a host: each layer gets an embedding of the row's token.
#pragma once

#include <span>

#include "contract/step_plan.h"
#include "exec/gpu/host.h"
#include "exec/gpu/products.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/weights.h"

namespace pando::exec::gpu {

class LayerInputs {
 public:
  // All arguments outlive this.
  LayerInputs(Host& host, const Weights& weights, Products& products)
      : host_(host), weights_(weights), products_(products) {}

  // Begins a step. Does nothing if the model has no such inputs. embeddings: the tokens'.
  void begin(std::span<const Token> tokens, const Rows& embeddings);
  // y becomes W_projection (gelu(W_gate x) * input). layer: its index in the model.
  void run(int layer, const WeightSet& weights, const Rows& x, Rows& y);

 private:
  Host& host_;
  const Weights& weights_;
  Products& products_;
  Rows inputs_;  // [n_rows, n_layers * layer_input_dim]
  Rows of_table_, gates_;
  List<uint32_t> rows_;
  List<float> ones_;
};

}  // namespace pando::exec::gpu
