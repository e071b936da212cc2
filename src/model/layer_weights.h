// The weights of one layer in memory, packed for the kernels.
#pragma once

#include <vector>

#include "kernel/packed_matrix.h"

namespace pando::model {

// Matrices with the same inputs, whose outputs stand one after another. Neighbours of the same type
// are one matrix.
using Stack = std::vector<kernel::PackedMatrix>;

// A weight that a layer lacks is empty.
struct LayerWeights {
  std::vector<float> attention_norm;         // [d_model] norm before attention
  std::vector<float> q_norm, k_norm;         // [head_dim], or over all heads [q_dim] and [kv_dim]
  Stack qkv;                                 // [(n_heads + 2 n_kv_heads) * head_dim, d_model]
  std::vector<float> qkv_bias;               // [(n_heads + 2 n_kv_heads) * head_dim]
  kernel::PackedMatrix o;                    // [d_model, n_heads * head_dim]
  std::vector<float> o_bias;                 // [d_model]
  std::vector<float> attention_sum_norm;     // [d_model] norm of what attention adds
  std::vector<float> feed_forward_norm;      // [d_model] norm before feed-forward
  Stack gate_up;                             // [2 d_ff, d_model]: gate, then up
  kernel::PackedMatrix down;                 // [d_model, d_ff]
  std::vector<float> feed_forward_sum_norm;  // [d_model] norm of what feed-forward adds
};

}  // namespace pando::model
