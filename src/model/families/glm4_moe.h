// What GLM-4.5 and the part of GLM-4.5V that reads texts have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/gguf_translator.h"
#include "model/rope_config.h"
#include "model/weight_specs.h"

namespace pando::model {

// JSON: fields with the values that the library takes where they are absent.
inline constexpr const char* kGlm4MoeAbsent = R"({
  "first_k_dense_replace": 1, "n_routed_experts": 128, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "routed_scaling_factor": 1.0,
  "n_group": 1, "topk_group": 1
})";
inline constexpr double kGlm4MoeShare = 0.5;  // of a head's channels rotates

// `rope`: what is allowed; its share is set here.
void read_glm4_moe(Fields& fields, RopeFields rope, ModelConfig& config);
void write_glm4_moe(const ModelConfig& config, nlohmann::ordered_json& object);
void translate_glm4_moe(GgufTranslator& gguf);
std::vector<WeightSpec> glm4_moe_layer(const ModelConfig& config, int layer);
// Behind one dense layer, with the sizes of the published models' experts or of tiny ones.
void set_glm4_moe_experts(ModelConfig& config);
void set_tiny_glm4_moe_experts(ModelConfig& config);

}  // namespace pando::model
