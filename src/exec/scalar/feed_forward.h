// Feed-forwards: dense ones, and mixtures of experts (docs/arithmetic.md, "Mixtures of experts").
#pragma once

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "exec/scalar/rows.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

// The activation of a row. x: gate, then up, or up alone, [n_inner * n]; out: [n].
void activate(const model::ModelSpec& spec, const float* x, size_t n, float* out);

// The roles of the weights of a dense layer, or of one expert.
struct FeedForwardRoles {
  Role gate_up, gate_up_bias, down;
};
inline constexpr FeedForwardRoles kDenseRoles{Role::kGateUp, Role::kGateUpBias, Role::kDown};
inline constexpr FeedForwardRoles kExpertRoles{Role::kExpertGateUp, Role::kExpertGateUpBias,
                                               Role::kExpertDown};

// W_down activation(W_gate h, W_up h), without the bias of W_down. [h.n, d_model].
Rows feed_forward(const model::ModelSpec& spec, const WeightSet& weights,
                  const FeedForwardRoles& roles, const Rows& h, ThreadPool& pool);

// The sum of each row's experts and of the shared expert. x: rows of the residual stream; h: the
// same, normed.
Rows mixture(const model::ModelSpec& spec, const LayerWeights& layer, const Rows& x, const Rows& h,
             ThreadPool& pool);

}  // namespace pando::exec::scalar
