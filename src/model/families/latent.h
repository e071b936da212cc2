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

// The experts of all layers but the first n_dense; a family says how they are chosen.
void read_latent_experts(Fields& fields, int n_dense, ModelConfig& config);
void read_sigmoid_choice(Fields& fields, ModelConfig& config);
void write_latent_experts(const ModelConfig& config, nlohmann::ordered_json& object);
// The first layers, up to the first mixture.
int n_dense_layers(const ModelConfig& config);

// Metadata of the architecture deepseek2.
void translate_latent(GgufTranslator& gguf);
// Whether a file of that architecture has experts that are chosen by sigmoids, and the tokenizer of
// GLM: what tells one family from another.
bool has_sigmoid_router(const GgufFile& gguf);
bool has_glm_tokenizer(const GgufFile& gguf);

std::vector<WeightSpec> latent_layer(const ModelConfig& config, int layer);
// Family::passed_over.
std::string_view latent_passed_over(const ModelConfig& config, std::string_view tensor);

// For shapes: the latent, and what follows from it and from the rotation; mixtures in all layers
// but the first n_dense.
void set_latent(const LatentConfig& latent, ModelConfig& config);
void set_mixtures(int n_dense, ModelConfig& config);

// Family::offers.
inline constexpr std::string_view kLatentFields[] = {"kv_lora_rank", "n_routed_experts",
                                                     "expert_count", "expert_weights_scale",
                                                     "rope.scaling.yarn_log_multiplier"};

}  // namespace pando::model
