// The activation of a feed-forward.
#pragma once

#include "contract/model_spec.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::exec {

// gate_up: [n_inner() * d_ff] f32: gate then up, or up alone; out: [d_ff] f32.
void activate(const kernel::Kernels& kernels, const model::ModelSpec& spec, const float* gate_up,
              int d_ff, float* out);

}  // namespace pando::exec
