// What the Granite families multiply: embeddings, what layers add, products of queries and keys;
// and by what they divide logits.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fields.h"
#include "model/config.h"
#include "model/gguf_translator.h"

namespace pando::model {

// Family::offers.
inline constexpr std::string_view kMultipliers[] = {
    "embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling",
    "embedding_scale",      "residual_scale",      "attention.scale",      "logit_scale"};

void read_multipliers(Fields& fields, ModelConfig& config);
void write_multipliers(const ModelConfig& config, nlohmann::ordered_json& object);
void translate_multipliers(GgufTranslator& gguf);

}  // namespace pando::model
