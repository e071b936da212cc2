#include "exec/scalar/rotation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pando::exec::scalar {

Rotations::Rotations(const model::ModelSpec& spec, int context) {
  std::vector<std::pair<int, int>> made;
  for (int i = 0; i < spec.n_layers(); ++i) {
    const std::pair wanted(spec.layers[i].rotation, spec.rotated_dim(i));
    const auto found = std::ranges::find(made, wanted);
    of_layer_.push_back(found - made.begin());
    if (found != made.end()) continue;
    made.push_back(wanted);
    tables_.emplace_back(spec.rotations[wanted.first], wanted.second, context);
  }
}

void Rotations::turn(int layer, uint32_t pos, float* x) const {
  const RopeTable& rope = tables_[of_layer_[layer]];
  const float *const cos = rope.cos(pos), *const sin = rope.sin(pos);
  const int half = rope.rotary_dim() / 2;
  for (int i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = std::fma(a, cos[i], -(b * sin[i]));
    x[i + half] = std::fma(b, cos[i], a * sin[i]);
  }
}

}  // namespace pando::exec::scalar
