// The choice of a row's experts: docs/arithmetic.md, "Router".
#pragma once

#include <vector>

#include "contract/model_spec.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

struct ChosenExpert {
  int expert;
  float weight;
};

// logits: [n_experts], products with the router. The chosen experts ascend.
std::vector<ChosenExpert> choose_experts(const model::ExpertsConfig& spec,
                                         const LayerWeights& layer, std::vector<float> logits);

}  // namespace pando::exec::scalar
