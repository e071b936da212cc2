// Mixtures of experts in plain loops: docs/arithmetic.md, "Mixtures of experts".
#pragma once

#include <vector>

#include "model/config.h"
#include "reference/reference_matrix.h"

namespace pando::reference {

struct Gated {
  Matrix gate, up, down;
  std::vector<float> gate_bias, up_bias, down_bias;  // or empty
};

struct Experts {
  Matrix router;                                           // f32
  std::vector<float> router_bias, choice_bias, weight_of;  // [n_experts], or empty
  std::vector<Gated> all;
  std::vector<float> shared_gate;  // [d_model], or empty
  // Norms before router and experts, and of the outputs of experts and shared expert: [d_model], or
  // empty.
  std::vector<float> router_norm, norm, sum_norm, shared_sum_norm;
};

// h: [n, d_model]. Returns [n, d_model].
std::vector<float> gated(const model::ModelConfig& config, const Gated& weights,
                         const std::vector<float>& h, int n);

// Sum of the experts and the shared expert, [n, d_model]. h: the normed rows that the shared expert
// reads. Router and experts read h too, or norms of their own of the rows x.
std::vector<float> experts(const model::ModelConfig& config, const Experts& layer,
                           const Gated& shared, const std::vector<float>& x,
                           const std::vector<float>& h, int n);

}  // namespace pando::reference
