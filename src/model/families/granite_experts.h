// What the Granite families with experts have in common.
#pragma once

#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/multipliers.h"

namespace pando::model {

inline constexpr ExpertFields kGraniteExperts = {.n_experts = 8,
                                                 .n_used = 2,
                                                 .d_ff_name = "intermediate_size",
                                                 .count_name = "num_local_experts"};
inline constexpr const char* kGraniteSharedWidth = "shared_intermediate_size";
// Family::offers.
inline constexpr auto kGraniteExpertOffers = joined(kMultipliers, kExpertOffers);

void fix_granite_experts(ModelConfig& config);
// Router and experts, where the layer is a mixture, and what all rows pass: the shared expert, or
// the feed-forward of a dense layer.
void add_granite_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer);

}  // namespace pando::model
