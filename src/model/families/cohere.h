// What Cohere's Command R and Command R7B have in common: LayerNorm; attention and feed-forward
// read the same norm; the channels that turn together are neighbours; logits times a scale.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/gguf_translator.h"
#include "model/weight_specs.h"

namespace pando::model {

inline constexpr const char* kCohereScale = "logit_scale";
inline constexpr std::string_view kCohereOffers[] = {kCohereScale};

void fix_cohere(ModelConfig& config);
// The fields of decoders and the scale of logits. `theta`: of a file that gives none.
void read_cohere(Fields& fields, double theta, ModelConfig& config);
void write_cohere(const ModelConfig& config, nlohmann::ordered_json& object);
// All but windows.
void translate_cohere(GgufTranslator& gguf);
std::vector<WeightSpec> cohere_layer(const ModelConfig& config, int layer);

}  // namespace pando::model
