#include "exec/cpu/activate.h"

#include <algorithm>

namespace pando::exec {
namespace {

// NaN stays NaN.
float squared_relu(float x) { return x < 0.0f ? 0.0f : x * x; }

}  // namespace

void activate(const kernel::Kernels& kernels, const model::ModelConfig& config,
              const float* gate_up, int d_ff, float* out) {
  const float* const up = gate_up + d_ff;
  switch (config.activation) {
    case model::Activation::kSilu:
      return kernels.swiglu(gate_up, up, d_ff, out);
    case model::Activation::kGeluTanh:
      return kernels.geglu(gate_up, up, d_ff, out);
    case model::Activation::kClampedSilu:
      return kernels.clamped_swiglu(gate_up, up, config.activation_alpha, config.activation_limit,
                                    d_ff, out);
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
