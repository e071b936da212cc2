// Finds the fields of the text part in a config.json.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "pando/values/result.h"

namespace pando::model {

// True if a config.json describes a text part beside parts for images or sounds.
bool has_text_part(const Json& file);

// Values of `model_type` of files with a text part.
std::vector<std::string_view> types_with_text_part();

// `file` itself if there is none: the model reads only text. Otherwise the fields of its text part,
// with `model_type` and `architectures` of its family.
Result<Json> text_part(const Json& file, std::string_view source);

}  // namespace pando::model
