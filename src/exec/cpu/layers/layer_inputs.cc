#include "exec/cpu/layers/layer_inputs.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/read_weights.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"

namespace pando::exec {

LayerInputs::LayerInputs(const Weights& weights, int first_layer, const kernel::Kernels& kernels,
                         ThreadPool& pool, PhaseTimes& times)
    : weights_(weights),
      kernels_(kernels),
      pool_(pool),
      times_(times),
      dim_(weights.spec.layer_input_dim),
      first_(static_cast<size_t>(first_layer) * dim_),
      row_len_(weights.layers.size() * dim_) {}

// input = (norm(W embedding / sqrt(d_model)) + sqrt(dim) table row) / sqrt(2), layer by layer.
void LayerInputs::begin(std::span<const Token> tokens, const float* embeddings,
                        Products& products) {
  const auto n_rows = static_cast<uint32_t>(tokens.size());
  const auto d_model = static_cast<size_t>(weights_.spec.d_model);
  inputs_.reserve(n_rows * row_len_ * sizeof(float));
  gates_.reserve(size_t{n_rows} * dim_ * sizeof(float));
  if (n_rows == 0) return;
  products.multiply(
      weights_.layer_input_projection, n_rows,
      [&](int row, float*) { return embeddings + static_cast<size_t>(row) * d_model; },
      inputs_.as<float>());
  Stopwatch watch;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_model)));
  for_rows(pool_, n_rows, [&](uint32_t i) {
    float* const x = row(i);
    kernels_.scale(x, scale, static_cast<int>(row_len_), x);
    for (size_t at = 0; at < row_len_; at += dim_)
      kernels_.rms_norm(x + at, weights_.layer_input_norm.data(), weights_.spec.rms_eps, dim_,
                        x + at);
    add_table_row(tokens[i], x);
    kernels_.scale(x, static_cast<float>(std::sqrt(0.5)), static_cast<int>(row_len_), x);
  });
  watch.lap(times_.row_ops_s);
}

void LayerInputs::add_table_row(Token token, float* row) const {
  const model::Tensor& table = *weights_.layer_input_table;
  const int64_t n = table.shape[1];
  std::vector<float> whole(static_cast<size_t>(n));
  const std::byte* from = table.in_place() + token * stored_bytes(table.type, n);
  kernel::read_weights(kernels_, table.type, from, n, whole.data());
  float* const own = whole.data() + first_;
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(dim_)));
  kernels_.scale(own, scale, static_cast<int>(row_len_), own);
  kernels_.add(row, own, static_cast<int>(row_len_));
}

// x += norm(W_projection (gelu(W_gate x) * input))
void LayerInputs::add(int layer, uint32_t n_rows, ResidualStream& x, Products& products) {
  const LayerWeights& weights = weights_.layers[layer];
  float* const gates = gates_.as<float>();
  products.multiply(
      weights.input_gate, n_rows,
      [&](int row, float*) { return x.read(static_cast<uint32_t>(row), {}, n_rows, nullptr); },
      gates);
  const size_t first = static_cast<size_t>(layer) * dim_;
  products.multiply(
      weights.input_projection, n_rows,
      [&](int i, float* own) {
        kernels_.geglu(gates + static_cast<size_t>(i) * dim_, row(static_cast<uint32_t>(i)) + first,
                       dim_, own);
        return own;
      },
      x.sums());
  x.add({}, weights.input_sum_norm, weights.scale[0]);
}

void LayerInputs::move(uint32_t from, uint32_t to) {
  if (from != to && !empty()) std::memcpy(row(to), row(from), row_len_ * sizeof(float));
}

}  // namespace pando::exec
