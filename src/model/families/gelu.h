// GELU as the activation of a feed-forward without a gate.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/fields.h"
#include "model/config.h"

namespace pando::model {

// Reads `hidden_act`, and sets the activation: "gelu" is by erf, "gelu_new", "gelu_fast" and
// "gelu_pytorch_tanh" are by tanh. Returns the name for DecoderFields::activation: the one in the
// file, or `usual` if the file has none or another.
std::string read_gelu(Fields& fields, const char* usual, ModelConfig& config);
// Writes what read_gelu reads.
void write_gelu(const ModelConfig& config, nlohmann::ordered_json& object);

}  // namespace pando::model
