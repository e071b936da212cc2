#include "exec/scalar/layer_inputs.h"

#include <cmath>

#include "exec/scalar/math.h"

namespace pando::exec::scalar {

Rows layer_inputs(const Weights& weights, std::span<const Token> tokens, const Rows& embeddings,
                  ThreadPool& pool) {
  const model::ModelSpec& spec = weights.spec;
  const int dim = spec.layer_input_dim;
  Rows inputs = multiply(weights.ends.matrix(Role::kLayerInputProjection), embeddings, pool);
  const auto of_product = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.d_model)));
  const auto of_table = static_cast<float>(std::sqrt(static_cast<double>(dim)));
  const auto of_sum = static_cast<float>(std::sqrt(0.5));
  const float* const norm = weights.ends.values(Role::kLayerInputNorm).data();
  each_row(pool, inputs.n, [&](uint32_t row) {
    float* const x = inputs.row(row);
    scale(x, of_product, inputs.width);
    for (size_t at = 0; at < inputs.width; at += dim)
      rms_norm(x + at, norm, spec.rms_eps, dim, x + at);
    Values own = weights.table_row(Role::kLayerInputTable, tokens[row]);
    scale(own.data(), of_table, own.size());
    add(x, own.data(), inputs.width);
    scale(x, of_sum, inputs.width);
  });
  return inputs;
}

Rows gated_inputs(const LayerWeights& layer, const Rows& x, const Rows& inputs, size_t first,
                  ThreadPool& pool) {
  Rows gates = multiply(layer.matrix(Role::kInputGate), x, pool);
  for (uint32_t row = 0; row < x.n; ++row)
    for (size_t i = 0; i < gates.width; ++i)
      gates.row(row)[i] = gelu(gates.row(row)[i]) * inputs.row(row)[first + i];
  return multiply(layer.matrix(Role::kInputProjection), gates, pool);
}

}  // namespace pando::exec::scalar
