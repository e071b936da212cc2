// The shape of a model from the metadata of a GGUF file.
#pragma once

#include "base/gguf.h"
#include "model/config.h"

namespace pando::model {

// Translates the metadata into the fields of a config.json and reads those, so that both formats
// accept and refuse the same models. kBadFile and kUnsupported name file, key, found and expected.
Result<ModelConfig> read_gguf_config(const GgufFile& gguf);

}  // namespace pando::model
