// The rotations of a model's layers: docs/arithmetic.md, "Rotary embedding".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "contract/model_spec.h"
#include "exec/rope.h"

namespace pando::exec::scalar {

class Rotations {
 public:
  // context: positions of the longest sequence.
  Rotations(const model::ModelSpec& spec, int context);
  // x: [spec.rotated_dim(layer)], at position pos.
  void turn(int layer, uint32_t pos, float* x) const;

 private:
  std::vector<RopeTable> tables_;  // one for each rotation and size of heads
  std::vector<size_t> of_layer_;   // [n_layers], index into tables_
};

}  // namespace pando::exec::scalar
