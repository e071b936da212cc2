#include "exec/cpu/layers/layer_ropes.h"

#include <algorithm>
#include <utility>

namespace pando::exec {

LayerRopes::LayerRopes(const model::ModelSpec& spec, int context) {
  std::vector<std::pair<int, int>> made;  // rotations and sizes of heads that tables_ has
  for (int i = 0; i < spec.n_layers(); ++i) {
    const std::pair wanted(spec.layers[i].rotation, spec.rotated_dim(i));
    const auto found = std::ranges::find(made, wanted);
    of_layer_.push_back(found - made.begin());
    if (found != made.end()) continue;
    made.push_back(wanted);
    tables_.emplace_back(spec.rotations[wanted.first], wanted.second, context);
  }
}

}  // namespace pando::exec
