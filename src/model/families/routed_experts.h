// Mixtures of experts behind the first layers, as DeepSeek's models and others like them describe
// and name them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fields.h"
#include "model/config.h"
#include "model/family.h"
#include "model/gguf_translator.h"

namespace pando::model {

// The experts of all layers but the first n_dense, and how they are chosen by sigmoids.
void read_routed_experts(Fields& fields, int n_dense, ModelConfig& config);
void read_sigmoid_choice(Fields& fields, ModelConfig& config);
// All that RoutedFields says.
void read_routed(Fields& fields, const RoutedFields& usual, ModelConfig& config);
void write_routed_experts(const ModelConfig& config, nlohmann::ordered_json& object);
// After decoder().
void translate_routed(GgufTranslator& gguf, const RoutedFields& usual);

// Family::passed_over. In checkpoints the layer behind the last one predicts further tokens.
std::string_view multi_token_layer(const ModelConfig& config, std::string_view tensor);

}  // namespace pando::model
