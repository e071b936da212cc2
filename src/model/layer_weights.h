// The weights of one layer in memory, packed for the kernels.
#pragma once

#include <vector>

#include "kernel/packed_matrix.h"

namespace pando::model {

// Matrices with the same inputs, whose outputs stand one after another. Neighbours of the same type
// are one matrix.
using Stack = std::vector<kernel::PackedMatrix>;

// A weight that a layer lacks is empty. The projections of a recurrent layer go to qkv and o; all
// outputs of qkv stand one after another, in the order of docs/arithmetic.md:
//   delta-net          queries, keys, values, z, b, a
//   short convolution  B, C, x
//   Mamba2             z, x, B, C, dt
struct LayerWeights {
  std::vector<float> attention_norm;  // [d_model] norm before the mixer
  std::vector<float> q_norm, k_norm;  // [head_dim], or over all heads [q_dim] and [kv_dim]
  // [(n_heads + 2 n_kv_heads) * head_dim, d_model]; with gates they stand behind the queries, as
  // many rows. Without values where these are the keys, and without both where the layer reads the
  // keys of another.
  Stack qkv;
  std::vector<float> qkv_bias;               // [outputs of qkv]
  kernel::PackedMatrix o;                    // [d_model, n_heads * head_dim]
  std::vector<float> o_bias;                 // [d_model]
  std::vector<float> conv;                   // [conv_taps, channels], the oldest position first
  std::vector<float> conv_bias;              // [channels]
  std::vector<float> decay;                  // [n_heads] below 0: -exp(A_log)
  std::vector<float> dt_bias;                // [n_heads]
  std::vector<float> skip;                   // [n_heads] D of Mamba2
  std::vector<float> state_norm;             // delta-net [value_dim], Mamba2 [n_heads * value_dim]
  std::vector<float> attention_sum_norm;     // [d_model] norm of what attention adds
  std::vector<float> feed_forward_norm;      // [d_model] norm before feed-forward
  Stack gate_up;                             // [2 d_ff, d_model]: gate, then up
  kernel::PackedMatrix down;                 // [d_model, d_ff]
  std::vector<float> feed_forward_sum_norm;  // [d_model] norm of what feed-forward adds
  // Of the layer's own inputs (exec/cpu/layer_inputs.h): their gate [layer_input_dim, d_model], the
  // projection of what it lets through [d_model, layer_input_dim], and the norm of that [d_model].
  kernel::PackedMatrix input_gate, input_projection;
  std::vector<float> input_sum_norm;
  std::vector<float> scale;  // [1] multiplies the residual stream behind the layer
};

}  // namespace pando::model
