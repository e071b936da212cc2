// What Gemma 2 and Gemma 3 have in common: norms before and after attention and feed-forward, all
// of them stored minus 1; GELU; embeddings times the root of their width.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/gguf_translator.h"
#include "model/weight_specs.h"

namespace pando::model {

inline constexpr const char* kGemmaActivation = "gelu_pytorch_tanh";
// By its root the products of queries and keys are divided.
inline constexpr const char* kGemmaScalar = "query_pre_attn_scalar";

// The scalar, 256 where it is absent, and the factor of embeddings. After read_decoder.
void read_gemma(Fields& fields, ModelConfig& config);
void scale_embeddings(ModelConfig& config);
void write_gemma(const ModelConfig& config, nlohmann::ordered_json& object);
// A GGUF file does not have the scalar: readers know that of the largest model, which has so many
// layers. After decoder().
void translate_gemma(GgufTranslator& gguf, int largest);

std::vector<WeightSpec> gemma_layer(const ModelConfig& config, int layer);
void last_gemma_norm(WeightSpec& spec);

}  // namespace pando::model
