// What families with latent attention have in common: DeepSeek-V2, DeepSeek-V3, GLM-4.7-Flash.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/layer_specs.h"
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
// Metadata of the architecture deepseek2, but those of experts.
void translate_latent(GgufTranslator& gguf);

// The tensors of a layer up to its feed-forward part.
LayerSpecs latent_attention_specs(const ModelConfig& config, int layer);
// Family::passed_over.
std::string_view latent_passed_over(const ModelConfig& config, std::string_view tensor);

// For shapes: the latent, and what follows from it and from the rotation.
void set_latent(const LatentConfig& latent, ModelConfig& config);

}  // namespace pando::model
