// What stands beside config.json about the quantisation of a checkpoint.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "pando/result.h"

namespace pando::model {

// Adds the field `quantization_config` to config.json where it is absent and the directory has
// hf_quant_config.json, in which older versions of NVIDIA's ModelOpt say it. Errors: of that file,
// kBadFile or, for another algorithm than FP8, kUnsupported.
Status add_quantization(const std::filesystem::path& directory, nlohmann::json& config);

}  // namespace pando::model
