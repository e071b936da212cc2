// What families with latent attention have in common: DeepSeek-V2, DeepSeek-V3, GLM-4.7-Flash.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/routed_experts.h"
#include "model/gguf_translator.h"

namespace pando::model {

// What the transformers library takes where a field is absent.
struct LatentFields {
  int query_rank = 1536;
  int still_dim = 128;
  int value_dim = 128;
  double rms_eps = 1e-6;
};
// All fields of config.json but those of experts.
void read_latent(Fields& fields, const LatentFields& usual, ModelConfig& config);
void write_latent(const ModelConfig& config, nlohmann::ordered_json& object);

// Metadata of the architecture deepseek2.
void translate_latent(GgufTranslator& gguf);
// Whether a file of that architecture has experts that are chosen by sigmoids, and the tokenizer of
// GLM: what tells one family from another.
bool has_sigmoid_router(const GgufFile& gguf);
bool has_glm_tokenizer(const GgufFile& gguf);

std::vector<WeightSpec> latent_layer(const ModelConfig& config, int layer);

// For shapes: the latent, and what follows from it and from the rotation.
void set_latent(const LatentConfig& latent, ModelConfig& config);

// Family::offers.
inline constexpr std::string_view kLatentOnlyFields[] = {"kv_lora_rank",
                                                         "rope.scaling.yarn_log_multiplier"};
inline constexpr auto kLatentFields = joined(kRoutedFields, kLatentOnlyFields);

}  // namespace pando::model
