// The weights of one layer in memory, packed for the kernels.
#pragma once

#include <vector>

#include "kernel/linear.h"

namespace pando::model {

// Matrices with the same inputs, their outputs one behind the other. Neighbours of one type are one
// matrix.
using Stack = std::vector<kernel::PackedMatrix>;

struct LayerWeights {
  std::vector<float> attention_norm;     // [d_model] before attention, or behind it
  std::vector<float> q_norm, k_norm;     // [head_dim] or of all heads, empty without q/k norms
  Stack qkv;                             // [(n_heads + 2 n_kv_heads) * head_dim, d_model]
  std::vector<float> qkv_bias;           // [(n_heads + 2 n_kv_heads) * head_dim], or empty
  kernel::PackedMatrix o;                // [d_model, n_heads * head_dim]
  std::vector<float> o_bias;             // [d_model], or empty
  std::vector<float> feed_forward_norm;  // [d_model] before feed-forward, or behind it
  Stack gate_up;                         // [2 d_ff, d_model]: gate, then up
  kernel::PackedMatrix down;             // [d_model, d_ff]
};

}  // namespace pando::model
