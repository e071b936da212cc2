// The file beside config.json that describes how a checkpoint is quantised.
#pragma once

#include "base/json_fwd.h"
#include "base/model_path.h"
#include "pando/values/result.h"

namespace pando::model {

// Adds the field `quantization_config` to `config` if it is absent and the directory has
// hf_quant_config.json. Older versions of NVIDIA's ModelOpt write this file instead of the field.
// Errors are about this file: kBadFile, or kUnsupported for an algorithm other than FP8.
Status add_quantization(const ModelPath& directory, Json& config);

}  // namespace pando::model
