// Models that read images beside texts.
#pragma once

#include <string_view>

#include "model/config.h"

namespace pando::model {

// Family::passed_over for a checkpoint whose vision parts have the usual names.
std::string_view vision_part(const ModelConfig& config, std::string_view tensor);

}  // namespace pando::model
