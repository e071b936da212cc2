// What GLM-4 and the part of GLM-4.1V that reads texts have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "model/config.h"
#include "model/families/layer_specs.h"
#include "model/gguf_translator.h"

namespace pando::model {

void write_glm4(const ModelConfig& config, nlohmann::ordered_json& object);
void translate_glm4(GgufTranslator& gguf);
std::vector<WeightSpec> glm4_layer(const ModelConfig& config, int layer, RowPairs pairs);

}  // namespace pando::model
