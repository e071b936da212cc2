#include "exec/cpu/activate.h"

namespace pando::exec {

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
  }
}

}  // namespace pando::exec
