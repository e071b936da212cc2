// What the families of LFM2 have in common.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "model/config.h"
#include "model/config_ranges.h"
#include "model/families/layer_specs.h"
#include "model/gguf_translator.h"

namespace pando::model {

void fix_lfm2(ModelConfig& config);
// All fields but those of the feed-forward part, whose width has this name and range.
void read_lfm2(Fields& fields, const char* d_ff_name, const WholeRange& d_ff_sizes,
               ModelConfig& config);
void write_lfm2(const ModelConfig& config, nlohmann::ordered_json& object);
void translate_lfm2(GgufTranslator& gguf);

// The tensors of a layer up to the norm before the feed-forward part.
LayerSpecs lfm2_mixer(const ModelConfig& config, int layer);
void add_lfm2_feed_forward(LayerSpecs& specs, const ModelConfig& config);  // of a dense layer
void last_lfm2_norm(WeightSpec& spec);

// For shapes: these layers have attention, all others are short convolutions.
void set_lfm2_attention(std::initializer_list<int> layers, ModelConfig& config);

}  // namespace pando::model
