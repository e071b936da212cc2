#include "exec/cpu/layers/activate.h"

#include <algorithm>

namespace pando::exec {
namespace {

// NaN stays NaN.
float squared_relu(float x) { return x < 0.0f ? 0.0f : x * x; }

}  // namespace

void activate(const kernel::Kernels& kernels, const model::ModelSpec& spec, const float* gate_up,
              int d_ff, float* out) {
  const float* const up = gate_up + d_ff;
  switch (spec.activation) {
    case model::Activation::kSilu:
      return kernels.swiglu(gate_up, up, d_ff, out);
    case model::Activation::kGeluTanh:
      return kernels.geglu(gate_up, up, d_ff, out);
    case model::Activation::kGeluErf:
      kernels.gelu_erf(gate_up, d_ff, out);
      return kernels.multiply(out, up, d_ff);
    case model::Activation::kClampedSilu:
      return kernels.clamped_swiglu(gate_up, up, spec.activation_alpha, spec.activation_limit, d_ff,
                                    out);
    case model::Activation::kSquaredRelu:
      std::transform(gate_up, gate_up + d_ff, out, squared_relu);
      return;
    case model::Activation::kUngatedGelu:
      return kernels.gelu_erf(gate_up, d_ff, out);
    case model::Activation::kUngatedGeluTanh:
      return kernels.gelu(gate_up, d_ff, out);
  }
}

}  // namespace pando::exec
