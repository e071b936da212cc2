// Rotary embeddings as a config.json describes them.
#pragma once

#include <span>
#include <string_view>

#include "base/fields.h"
#include "base/json.h"
#include "contract/model_spec.h"

namespace pando::model {

// Fields that a family allows.
struct RopeFields {
  bool partial = false;       // partial_rotary_factor may leave channels unrotated
  bool sections = false;      // positions may have several parts, which are equal for text
  bool query_growth = false;  // yarn: llama_4_scaling_beta may be there
  bool score_mscale = false;  // yarn: mscale_all_dim is for scores too
  bool mscales = false;       // longrope: short_mscale and long_mscale may be there
  bool alpha = false;         // the type "dynamic" with an alpha is read as "default"
  double theta = 10000.0;     // if the file says none
  double rotary_share = 1.0;  // if the file says none
  std::span<const std::string_view> longrope_names = {};  // further names of the type longrope
  // For files whose rope_parameters has an object per layer type: the type to read. rope_theta and
  // rope_scaling belong to the same type.
  const char* layer_type = nullptr;
};

// Reads rope_theta and rope_scaling, or, in newer files, rope_parameters; some files have both.
// Unknown or contradictory fields are refused in `fields`. head_dim in channels, max_positions in
// tokens.
RopeConfig read_rope(Fields& fields, const RopeFields& allowed, int head_dim, int max_positions);

// Reads what rope_parameters has for `layer_type`, and nothing else.
RopeConfig read_rope_of(Fields& fields, std::string_view layer_type, const RopeFields& allowed,
                        int head_dim, int max_positions);

// The fields that give `rope` when they are read.
void write_rope(const RopeConfig& rope, nlohmann::ordered_json& object);
// The object of rope_parameters that gives it.
nlohmann::ordered_json rope_parameters(const RopeConfig& rope);

}  // namespace pando::model
