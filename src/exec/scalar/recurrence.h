// One row of a recurrence.
#pragma once

#include <span>
#include <vector>

#include "contract/model_spec.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

// The state of one layer behind some row of a path.
struct PathState {
  std::vector<float> inputs;  // [conv_taps - 1, channels], the oldest first
  std::vector<float> heads;   // [n_heads, key_dim, value_dim]
};

struct RecurrentRow {
  const model::ModelSpec& spec;
  const LayerWeights& weights;
  std::span<const float> projected;  // outputs of kQkv
};

// Each moves the state one row on and writes y, [value_width] or of a short convolution [d_model].
void short_convolution_row(const RecurrentRow& row, PathState& state, float* y);
void delta_net_row(const RecurrentRow& row, PathState& state, float* y);
void mamba2_row(const RecurrentRow& row, PathState& state, float* y);

}  // namespace pando::exec::scalar
