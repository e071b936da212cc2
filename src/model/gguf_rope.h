// Rotary embeddings as a GGUF file describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/json.h"
#include "model/gguf_fields.h"

namespace pando::model {

// Sets rope_scaling, and what goes with it, in `config`, which has rope_theta and
// max_position_embeddings already. rotary_dim: channels of a head that rotate. `offers`: keys below
// the architecture that the family reads, beside the usual ones.
void translate_rope(GgufFields& fields, int64_t rotary_dim,
                    std::span<const std::string_view> offers, Json& config);

}  // namespace pando::model
