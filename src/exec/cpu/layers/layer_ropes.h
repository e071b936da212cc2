// The rotations of a model's layers.
#pragma once

#include <cstdint>

#include "contract/model_spec.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/rope.h"

namespace pando::exec {

class LayerRopes {
 public:
  LayerRopes(const model::ModelSpec& spec, int context) : tables_(spec, context) {}

  // Rotates the channels of x, [spec.rotated_dim(layer)].
  void turn(const kernel::Kernels& kernels, int layer, uint32_t pos, float* x) const {
    const RopeTable& rope = tables_.of_layer(layer);
    kernels.rope(x, rope.cos(pos), rope.sin(pos), rope.rotary_dim());
  }

 private:
  RopeTables tables_;
};

}  // namespace pando::exec
