// Mamba2 layers, for the families that have them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/layer_specs.h"
#include "model/gguf_translator.h"

namespace pando::model {

// The names of the fields in a family's config.json.
struct MambaNames {
  const char *conv_taps, *n_groups, *state_dim, *n_heads, *head_dim, *conv_bias;
};

// Reads all these fields. All are required except conv_bias, which is true if absent. width: of all
// heads together, 0 if unknown. With a width, head_dim may be absent or "auto": a head's part of
// it.
void read_mamba(Fields& fields, const MambaNames& names, ModelConfig& config, int64_t width = 0);
void write_mamba(const MambaNames& names, const ModelConfig& config,
                 nlohmann::ordered_json& object);
// After decoder().
void translate_mamba(GgufTranslator& gguf, const MambaNames& names);
// Refuses limits of the time step other than 0 and infinity, for which JSON has no number.
void refuse_time_limits(Fields& fields);

// Adds the tensors of the mixer. `module`: where they are in a layer, such as "mamba".
void add_mamba(LayerSpecs& specs, const ModelConfig& config, const std::string& module);

}  // namespace pando::model
