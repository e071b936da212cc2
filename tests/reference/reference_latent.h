// Attention over latents of the reference forward pass: docs/arithmetic.md, "Latent attention",
// as plain loops.
#pragma once

#include <vector>

#include "reference/reference_forward.h"

namespace pando::reference {

// h: [n_tokens, d_model], from position 0 on. Returns the input of the output projection,
// [n_tokens, n_heads * value_dim].
std::vector<float> attend_latents(const model::ModelConfig& config, const Options& options,
                                  const Latent& layer, const std::vector<float>& h, int n_tokens);

}  // namespace pando::reference
