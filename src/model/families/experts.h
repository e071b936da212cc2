// Mixtures of experts in a config.json and in GGUF files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fields.h"
#include "model/config.h"
#include "model/family.h"
#include "model/gguf_translator.h"

namespace pando::model {

// Reads what ExpertFields says, once read_decoder has set the number of layers. All layers become
// mixtures but those that are named as dense; none, where there are 0 experts.
void read_experts(Fields& fields, const ExpertFields& usual, ModelConfig& config);
void write_experts(const ModelConfig& config, const ExpertFields& usual,
                   nlohmann::ordered_json& object);
// After decoder(). A file may have no width of its own for experts, or for the shared expert: then
// it is that of dense layers.
void translate_experts(GgufTranslator& gguf, const ExpertFields& usual);
bool has_gguf_experts(const GgufFile& gguf, std::string_view architecture);

// Makes the first n_dense layers dense, and all others mixtures.
void set_mixtures(int n_dense, ModelConfig& config);
// The first layers, up to the first mixture.
int n_dense_layers(const ModelConfig& config);
// Reads the number of shared experts. Each is as wide as an expert; together they are one wide
// expert. After read_experts.
void read_shared_experts(Fields& fields, const char* name, ModelConfig& config);

// Key of the function that turns router logits into scores.
inline constexpr const char* kGatingFunction = "expert_gating_func";
inline constexpr int64_t kGgufSigmoid = 2;
// Refuses files that name another function. Some files name none.
void require_sigmoids(GgufTranslator& gguf);

}  // namespace pando::model
