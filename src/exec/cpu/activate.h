// What a feed-forward makes of its gate and up.
#pragma once

#include "kernel/kernels.h"
#include "model/config.h"

namespace pando::exec {

// gate_up: [2 d_ff] f32, gate then up; out: [d_ff] f32.
void activate(const kernel::Kernels& kernels, const model::ModelConfig& config,
              const float* gate_up, int d_ff, float* out);

}  // namespace pando::exec
