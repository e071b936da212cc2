// What OLMo 2 and OLMo 3 have in common: norms behind attention and feed-forward, RMSNorm of all
// queries and of all keys.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/weight_specs.h"

namespace pando::model {

void fix_olmo2(ModelConfig& config);
std::vector<WeightSpec> olmo2_layer(const ModelConfig& config, int layer);

}  // namespace pando::model
