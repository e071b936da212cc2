// The fields of a config.json that decoders have in common.
#pragma once

#include "base/fields.h"
#include "base/json.h"
#include "model/config.h"
#include "model/config_ranges.h"
#include "model/family.h"
#include "model/rope_config.h"

namespace pando::model {

// Reads sizes, norms, rotation, embeddings and special tokens. Sets the number of layers. Refuses
// every field that would change the computation in a way that is not supported.
void read_decoder(Fields& fields, const DecoderFields& usual, ModelConfig& config);

// Writes what DecoderFields::gelus reads.
void write_gelu(const ModelConfig& config, nlohmann::ordered_json& object);

}  // namespace pando::model
