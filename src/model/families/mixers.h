// Kinds of layers in a config.json.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/fields.h"
#include "model/config.h"

namespace pando::model {

// A kind of layer and its name in `layer_types`. If a kind has several names, the first is written.
struct NamedMixer {
  std::string_view name;
  Mixer mixer;
};

// Sets the kind of each layer, once read_decoder has set their number. False if the field is
// absent. Refuses a model without attention.
bool read_mixers(Fields& fields, std::span<const NamedMixer> names, ModelConfig& config,
                 const char* field = "layer_types");
// Refuses the field that says that no layer has attention, or whose absence says it.
void refuse_no_attention(Fields& fields, const char* field, const ModelConfig& config);
void write_mixers(const ModelConfig& config, std::span<const NamedMixer> names,
                  nlohmann::ordered_json& object);

// Every `interval`-th layer has attention, the others are `recurrent`.
void set_interval(int64_t interval, Mixer recurrent, ModelConfig& config);

}  // namespace pando::model
