// The weights of one layer in memory, packed for the kernels.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "exec/cpu/kernel/packed_matrix.h"

namespace pando::exec {

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

// A weight that a layer lacks is empty. model::Role says what each is, and its shape.
struct LayerWeights {
  std::vector<float> attention_norm, q_norm, k_norm;
  Stack qkv;
  std::vector<float> qkv_bias, sinks;
  kernel::PackedMatrix q_up;
  LatentUp latent_up;
  kernel::PackedMatrix o;
  std::vector<float> o_bias, conv, conv_bias, decay, dt_bias, skip, state_norm;
  std::vector<float> attention_sum_norm, feed_forward_norm;
  Stack gate_up;
  std::vector<float> gate_up_bias;
  kernel::PackedMatrix down;
  std::vector<float> down_bias, feed_forward_sum_norm;
  kernel::PackedMatrix input_gate, input_projection;
  std::vector<float> input_sum_norm, scale;

  // Mixtures of experts have these. Every rank has all of the router.
  kernel::PackedMatrix router;  // f32
  std::vector<float> router_bias, choice_bias, expert_scale;
  std::vector<ExpertWeights> experts;  // [n_experts], all of the same types
  std::vector<float> shared_gate, router_norm, experts_norm, experts_sum_norm, shared_sum_norm;

  // Null if the layer is its mixer alone.
  const Stack* first_feed_forward() const {
    const Stack& stack = experts.empty() ? gate_up : experts[0].gate_up;
    return stack.empty() ? nullptr : &stack;
  }
  // Calls `see` with every matrix that has values, and true for those of experts.
  void each_matrix(FunctionRef<void(const kernel::PackedMatrix&, bool)> see) const;
};

}  // namespace pando::exec
