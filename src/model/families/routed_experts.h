// Mixtures of experts behind the first layers, as DeepSeek's models and others like them describe
// and name them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/layer_specs.h"
#include "model/gguf_translator.h"

namespace pando::model {

// Family::offers.
inline constexpr std::string_view kRoutedFields[] = {"n_routed_experts", "expert_count",
                                                     "expert_weights_scale"};

// The experts of all layers but the first n_dense; a family says how they are chosen.
void read_routed_experts(Fields& fields, int n_dense, ModelConfig& config);
void read_sigmoid_choice(Fields& fields, ModelConfig& config);
void write_routed_experts(const ModelConfig& config, nlohmann::ordered_json& object);
// After decoder() and multi_token_blocks().
void translate_routed_experts(GgufTranslator& gguf);

// Router, experts and shared experts, or the feed-forward of a dense layer.
void add_routed_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer);
// Family::passed_over. In checkpoints the layer behind the last one predicts further tokens.
std::string_view multi_token_layer(const ModelConfig& config, std::string_view tensor);

}  // namespace pando::model
