#include "exec/cpu/pack/layer_weights.h"

#include <span>

namespace pando::exec {

void LayerWeights::each_matrix(FunctionRef<void(const kernel::PackedMatrix&, bool)> see) const {
  const auto all = [&](std::span<const kernel::PackedMatrix> matrices, bool of_expert) {
    for (const kernel::PackedMatrix& matrix : matrices)
      if (matrix.bytes() > 0) see(matrix, of_expert);
  };
  for (const kernel::PackedMatrix* one :
       {&q_up, &o, &down, &input_gate, &input_projection, &router})
    all({one, 1}, false);
  for (const auto* several : {&qkv, &latent_up.keys, &latent_up.values, &gate_up})
    all(*several, false);
  for (const ExpertWeights& expert : experts) {
    all(expert.gate_up, true);
    all({&expert.down, 1}, true);
  }
}

}  // namespace pando::exec
