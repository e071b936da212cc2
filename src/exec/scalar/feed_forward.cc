#include "exec/scalar/feed_forward.h"

#include "exec/scalar/math.h"

namespace pando::exec::scalar {
namespace {

float activated(const model::ModelSpec& spec, float gate, float up) {
  switch (spec.activation) {
    case model::Activation::kSilu:
      return silu(gate) * up;
    case model::Activation::kGeluTanh:
      return gelu(gate) * up;
    case model::Activation::kGeluErf:
      return gelu_erf(gate) * up;
    case model::Activation::kClampedSilu:
      return clamped_swiglu(gate, up, spec.activation_alpha, spec.activation_limit);
    case model::Activation::kSquaredRelu:
      return up < 0.0f ? 0.0f : up * up;
    case model::Activation::kUngatedGelu:
      return gelu_erf(up);
    case model::Activation::kUngatedGeluTanh:
      return gelu(up);
  }
  return 0.0f;
}

}  // namespace

void activate(const model::ModelSpec& spec, const float* x, size_t n, float* out) {
  const float* const up = model::has_gate(spec.activation) ? x + n : x;
  for (size_t i = 0; i < n; ++i) out[i] = activated(spec, x[i], up[i]);
}

Rows feed_forward(const model::ModelSpec& spec, const WeightSet& weights,
                  const FeedForwardRoles& roles, const Rows& h, ThreadPool& pool) {
  Rows inner = multiply(weights.stack(roles.gate_up), h, pool);
  const Values& bias = weights.values(roles.gate_up_bias);
  Rows active(h.n, inner.width / spec.n_inner());
  each_row(pool, h.n, [&](uint32_t row) {
    if (!bias.empty()) add(inner.row(row), bias.data(), bias.size());
    activate(spec, inner.row(row), active.width, active.row(row));
  });
  return multiply(weights.stack(roles.down), active, pool);
}

}  // namespace pando::exec::scalar
