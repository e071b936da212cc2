// The rotations of a model's layers: docs/arithmetic.md, "Rotary embedding".
#pragma once

#include <cstdint>

#include "contract/model_spec.h"
#include "exec/rope.h"

namespace pando::exec::scalar {

class Rotations {
 public:
  // context: positions of the longest sequence.
  Rotations(const model::ModelSpec& spec, int context) : tables_(spec, context) {}
  // x: [spec.rotated_dim(layer)], at position pos.
  void turn(int layer, uint32_t pos, float* x) const;

 private:
  RopeTables tables_;
};

}  // namespace pando::exec::scalar
