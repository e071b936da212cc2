#include "exec/scalar/rotation.h"

#include <cmath>

namespace pando::exec::scalar {

void Rotations::turn(int layer, uint32_t pos, float* x) const {
  const RopeTable& rope = tables_.of_layer(layer);
  const float *const cos = rope.cos(pos), *const sin = rope.sin(pos);
  const int half = rope.rotary_dim() / 2;
  for (int i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = std::fma(a, cos[i], -(b * sin[i]));
    x[i + half] = std::fma(b, cos[i], a * sin[i]);
  }
}

}  // namespace pando::exec::scalar
