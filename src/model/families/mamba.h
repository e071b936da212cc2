// Mamba2 layers of families that have them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/layer_specs.h"
#include "model/gguf_translator.h"

namespace pando::model {

// What a family's config.json calls the sizes.
struct MambaNames {
  const char *conv_taps, *n_groups, *state_dim, *n_heads, *head_dim, *conv_bias;
};

// All of these, which must be there. An absent conv_bias is true.
void read_mamba(Fields& fields, const MambaNames& names, ModelConfig& config);
void write_mamba(const MambaNames& names, const ModelConfig& config,
                 nlohmann::ordered_json& object);
// After decoder().
void translate_mamba(GgufTranslator& gguf, const MambaNames& names);
// Refuses limits of the time step other than 0 and infinity, for which JSON has no number.
void refuse_time_limits(Fields& fields);

// The tensors of the mixer, in `module`: "mamba".
void add_mamba(LayerSpecs& specs, const ModelConfig& config, const std::string& module);

}  // namespace pando::model
