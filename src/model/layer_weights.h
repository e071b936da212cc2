// The weights of one layer in memory, packed for the kernels.
#pragma once

#include <vector>

#include "kernel/packed_matrix.h"

namespace pando::model {

// Matrices with the same inputs, whose outputs stand one after another. Neighbours of the same type
// are one matrix.
using Stack = std::vector<kernel::PackedMatrix>;

// Between the latent and the heads, one matrix a head (docs/arithmetic.md, "Latent attention").
struct LatentUp {
  std::vector<kernel::PackedMatrix> keys;    // [n_heads] of [rank, still_dim], which queries meet
  std::vector<kernel::PackedMatrix> values;  // [n_heads] of [value_dim, rank]
};

// One expert of a mixture.
struct ExpertWeights {
  Stack gate_up;                    // [2 d_ff, d_model]: gate, then up; or [d_ff, d_model]: up
  std::vector<float> gate_up_bias;  // [2 d_ff] or [d_ff]
  kernel::PackedMatrix down;        // [d_model, d_ff]
  std::vector<float> down_bias;     // [d_model]
};

// A weight that a layer lacks is empty. The projections of a recurrent layer go to qkv and o; all
// outputs of qkv stand one after another, in the order of docs/arithmetic.md:
//   delta-net          queries, keys, values, z, b, a
//   short convolution  B, C, x
//   Mamba2             z, x, B, C, dt
// Of latent attention qkv has queries, or the inner rows of their projection, then latents and the
// shared channels of keys: [n_heads * query_dim or query_rank, and rank + rope_dim; d_model].
struct LayerWeights {
  // [d_model] norm before the mixer. A bias of this norm, or of that before the feed-forward,
  // stands behind it: [2 d_model].
  std::vector<float> attention_norm;
  // [head_dim], or for all heads [q_dim] and [kv_dim]; of latents [query_rank] and [rank]
  std::vector<float> q_norm, k_norm;
  // [(n_heads + 2 n_kv_heads) * head_dim, d_model]; with gates they stand behind the queries, as
  // many rows. Without values where these are the keys, and without both where the layer reads the
  // keys of another.
  Stack qkv;
  std::vector<float> qkv_bias;  // [outputs of qkv]
  std::vector<float> sinks;     // [n_heads] scores beside those of keys
  kernel::PackedMatrix q_up;    // of latents: [n_heads * query_dim, query_rank]
  LatentUp latent_up;
  kernel::PackedMatrix o;                 // [d_model, attended_dim]
  std::vector<float> o_bias;              // [d_model]
  std::vector<float> conv;                // [conv_taps, channels], the oldest position first
  std::vector<float> conv_bias;           // [channels]
  std::vector<float> decay;               // [n_heads] below 0: -exp(A_log)
  std::vector<float> dt_bias;             // [n_heads]
  std::vector<float> skip;                // [n_heads] D of Mamba2
  std::vector<float> state_norm;          // delta-net [value_dim], Mamba2 [n_heads * value_dim]
  std::vector<float> attention_sum_norm;  // [d_model] norm of what attention adds
  // [d_model] norm before feed-forward. Without one parallel layers read attention_norm.
  std::vector<float> feed_forward_norm;
  // Of a dense layer, or of the shared expert of a mixture, whose width d_ff is then.
  Stack gate_up;                             // as an expert's
  std::vector<float> gate_up_bias;           // as an expert's
  kernel::PackedMatrix down;                 // [d_model, d_ff]
  std::vector<float> down_bias;              // [d_model]
  std::vector<float> feed_forward_sum_norm;  // [d_model] norm of what feed-forward adds
  // Of the layer's own inputs (exec/cpu/layer_inputs.h): their gate [layer_input_dim, d_model], the
  // projection of what it lets through [d_model, layer_input_dim], and the norm of that [d_model].
  kernel::PackedMatrix input_gate, input_projection;
  std::vector<float> input_sum_norm;
  std::vector<float> scale;  // [1] multiplies the residual stream behind the layer

  // Of mixtures of experts. Every rank has all of the router.
  kernel::PackedMatrix router;         // [n_experts, d_model] f32
  std::vector<float> router_bias;      // [n_experts]
  std::vector<float> choice_bias;      // [n_experts]
  std::vector<float> expert_scale;     // [n_experts] multiplies the weights of the chosen
  std::vector<ExpertWeights> experts;  // [n_experts], all of the same types
  std::vector<float> shared_gate;      // [d_model] its product with a row scales the shared expert
  // [d_model] norm before the router, of the residual stream; what it gives is divided by
  // sqrt(d_model). None: the router reads feed_forward_norm.
  std::vector<float> router_norm;
  std::vector<float> experts_norm;      // [d_model] norm before experts; none: feed_forward_norm
  std::vector<float> experts_sum_norm;  // [d_model] norm of what the experts of a row give
  std::vector<float> shared_sum_norm;   // [d_model] norm of what the shared expert gives

  // Null if the layer is its mixer alone.
  const Stack* first_feed_forward() const {
    const Stack& stack = experts.empty() ? gate_up : experts[0].gate_up;
    return stack.empty() ? nullptr : &stack;
  }
};

}  // namespace pando::model
