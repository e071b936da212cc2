// The shape of a model from the metadata of a GGUF file.
#pragma once

#include "base/gguf.h"
#include "model/config.h"

namespace pando::model {

// Says in the fields of a config.json what the metadata says, and reads that: what is offered and
// what is refused is the same for both formats. kBadFile and kUnsupported name file, key, found
// and expected.
Result<ModelConfig> read_gguf_config(const GgufFile& gguf);

}  // namespace pando::model
