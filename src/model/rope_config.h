// Rotary embeddings as a config.json describes them.
#pragma once

#include <string_view>

#include "base/json.h"
#include "model/family.h"
#include "model/rope.h"

namespace pando::model {

// Reads rope_theta and rope_scaling, or, in newer files, rope_parameters; some files have both.
// What is unknown or contradicts itself is refused in `fields`; `source` names the text.
RopeConfig read_rope(FieldReader& fields, const FamilyTraits& traits, int head_dim,
                     int max_positions, std::string_view source);

// The fields that give `rope` when they are read.
void write_rope(const RopeConfig& rope, nlohmann::ordered_json& object);

}  // namespace pando::model
