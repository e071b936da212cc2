#include "exec/gpu/layer_inputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "exec/gpu/row_ops.h"
#include "exec/scalar/rows.h"

namespace pando::exec::gpu {

void LayerInputs::begin(std::span<const Token> tokens, const Rows& embeddings) {
  const model::ModelSpec& spec = weights_.on_host.spec;
  const auto dim = static_cast<size_t>(spec.layer_input_dim);
  if (dim == 0) return;
  products_.multiply(weights_.ends.stack(Role::kLayerInputProjection), embeddings, inputs_);
  scale_rows(host_, static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.d_model))),
             inputs_);
  const uint32_t n = inputs_.n;
  const size_t width = inputs_.width;
  inputs_.resize(host_, n * static_cast<uint32_t>(width / dim), dim);  // reshaped
  norm_rows_rms(host_, spec.rms_eps, weights_.ends.values(Role::kLayerInputNorm), inputs_, inputs_);
  inputs_.resize(host_, n, width);

  std::vector<float> values(n * width);
  for (uint32_t row = 0; row < n; ++row) {
    const scalar::Values own = weights_.on_host.table_row(Role::kLayerInputTable, tokens[row]);
    std::copy_n(own.data(), width, values.data() + row * width);
  }
  scalar::scale(values.data(), static_cast<float>(std::sqrt(static_cast<double>(dim))),
                values.size());
  of_table_.resize(host_, n, width);
  host_.write(of_table_.values, 0, values.data(), values.size() * sizeof(float));
  std::vector<uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  rows_.set(host_, all);
  ones_.set(host_, std::vector<float>(n, 1.0f));
  add_weighted_rows(host_, of_table_, rows_.buffer(), ones_.buffer(), {}, inputs_);
  scale_rows(host_, static_cast<float>(std::sqrt(0.5)), inputs_);
}

void LayerInputs::run(int layer, const WeightSet& weights, const Rows& x, Rows& y) {
  const auto dim = static_cast<size_t>(weights_.on_host.spec.layer_input_dim);
  products_.multiply(weights.stack(Role::kInputGate), x, gates_);
  gate_inputs(host_, inputs_, static_cast<size_t>(layer) * dim, gates_);
  products_.multiply(weights.stack(Role::kInputProjection), gates_, y);
}

}  // namespace pando::exec::gpu
