// Layers that carry a state from row to row, in plain loops: docs/arithmetic.md, "Recurrent
// layers".
#pragma once

#include <vector>

#include "model/config.h"
#include "reference/reference_matrix.h"

namespace pando::reference {

struct Recurrent {
  std::vector<Matrix> in;   // their outputs stand one after another
  std::vector<float> conv;  // [channels, taps]
  std::vector<float> conv_bias, decay, dt_bias, skip, norm;
  Matrix out;
};

// h: [n_tokens, d_model], from position 0 on. Returns the layer's summand, of the same shape.
std::vector<float> recurrent(const model::ModelConfig& config, model::Mixer mixer,
                             const Recurrent& layer, const std::vector<float>& h, int n_tokens);

}  // namespace pando::reference
