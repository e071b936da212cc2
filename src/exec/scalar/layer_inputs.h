// The inputs that each layer gets of a row's token itself: docs/arithmetic.md, "Inputs of layers".
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "contract/step_plan.h"
#include "exec/scalar/rows.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

// Inputs of all layers of the model for these tokens: [n_rows, n_layers * layer_input_dim].
// embeddings: of the tokens.
Rows layer_inputs(const Weights& weights, std::span<const Token> tokens, const Rows& embeddings,
                  ThreadPool& pool);

// W_projection (gelu(W_gate x) * input), [n_rows, d_model]. first: column of the layer's inputs.
Rows gated_inputs(const LayerWeights& layer, const Rows& x, const Rows& inputs, size_t first,
                  ThreadPool& pool);

}  // namespace pando::exec::scalar
