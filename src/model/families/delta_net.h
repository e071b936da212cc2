// Gated delta-nets, and what Qwen3-Next and Qwen3.5 have in common: every few layers attention
// whose output is gated; norms are stored as w of 1 + w, but for the delta-net's own.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/mixers.h"
#include "model/gguf_translator.h"

namespace pando::model {

// The fields of config.json that give the sizes of delta-nets. `usual`: of absent ones.
struct DeltaSizes {
  int64_t n_key_heads = 16, n_heads = 32, key_dim = 128, value_dim = 128;
};
inline constexpr const char *kDeltaKeyHeads = "linear_num_key_heads",
                            *kDeltaKeyDim = "linear_key_head_dim";
void read_delta_sizes(Fields& fields, const DeltaSizes& usual, ModelConfig& config);
void write_delta_sizes(const ModelConfig& config, nlohmann::ordered_json& object);
// In layer_types.
inline constexpr NamedMixer kDeltaMixers[] = {{"linear_attention", Mixer::kDeltaNet},
                                              {"full_attention", Mixer::kAttention}};

void fix_delta_net(ModelConfig& config);
// All fields of config.json but those of experts. `sections`: positions may have several parts.
// d_ff_name: of the width of dense layers.
void read_delta_net(Fields& fields, bool sections, ModelConfig& config,
                    const char* d_ff_name = "intermediate_size");
void write_delta_net(const ModelConfig& config, nlohmann::ordered_json& object);
void translate_delta_net(GgufTranslator& gguf);
// The shared expert's width and its gate, and renormalised weights, of a model with experts.
void read_delta_net_experts(Fields& fields, const ExpertFields& usual, ModelConfig& config);
void write_delta_net_experts(const ModelConfig& config, const ExpertFields& usual,
                             nlohmann::ordered_json& object);
void translate_delta_net_experts(GgufTranslator& gguf);

// The tensors of a layer; `add_delta` adds those of a delta-net that the file has in one order or
// another: projections of inputs, convolution, decays, output.
using AddDelta = void (*)(LayerSpecs& specs, const ModelConfig& config);
std::vector<WeightSpec> delta_net_layer(const ModelConfig& config, int layer, AddDelta add_delta);
void last_delta_net_norm(WeightSpec& spec);
// Family::passed_over.
std::string_view delta_net_passed_over(const ModelConfig& config, std::string_view tensor);

}  // namespace pando::model
