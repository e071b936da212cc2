// Where a config.json has the fields of the part that reads and writes text.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "pando/result.h"

namespace pando::model {

// `file` itself, or, where a model has other parts beside the one of texts, the fields of this one,
// with `model_type` and `architectures` of its family.
Result<nlohmann::json> text_part(const nlohmann::json& file, std::string_view source);

}  // namespace pando::model
