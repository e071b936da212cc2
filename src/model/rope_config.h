// Rotary embeddings as a config.json describes them.
#pragma once

#include <span>
#include <string_view>

#include "base/fields.h"
#include "base/json.h"
#include "model/rope.h"

namespace pando::model {

// What a family allows.
struct RopeFields {
  bool partial = false;       // partial_rotary_factor may leave channels unrotated
  bool sections = false;      // positions may have several parts, which are equal for text
  double theta = 10000.0;     // where the file says none
  double rotary_share = 1.0;  // where the file says none
  std::span<const std::string_view> longrope_names = {};  // further names of the type longrope
};

// Reads rope_theta and rope_scaling, or, in newer files, rope_parameters; some files have both.
// What is unknown or contradicts itself is refused in `fields`. head_dim in channels, max_positions
// in tokens.
RopeConfig read_rope(Fields& fields, const RopeFields& allowed, int head_dim, int max_positions);

// The fields that give `rope` when they are read.
void write_rope(const RopeConfig& rope, nlohmann::ordered_json& object);

}  // namespace pando::model
