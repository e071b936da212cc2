// Rotations that differ by type of layer: rotation 0 of layers that see all, and rotation 1 of
// layers with a window.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "base/fields.h"
#include "model/config.h"
#include "model/gguf_translator.h"
#include "model/rope_config.h"

namespace pando::model {

// RopeFields::layer_type of rotation 0.
inline constexpr const char* kFullAttention = "full_attention";
// Family::offers.
inline constexpr const char* kSlidingBase = "rope.freq_base_swa";

// Call after read_decoder, which reads rotation 0, and after the windows. sliding: the fields that
// are allowed, and their defaults.
void read_typed_rotations(Fields& fields, const RopeFields& sliding, ModelConfig& config);
void set_typed_rotations(ModelConfig& config);  // of the layers, by their windows
void write_typed_rotations(const ModelConfig& config, nlohmann::ordered_json& object);
// Call after decoder(). sliding_theta: default if the file gives none; absent: the theta of
// rotation 0.
void translate_typed_rotations(GgufTranslator& gguf, std::optional<double> sliding_theta);

}  // namespace pando::model
