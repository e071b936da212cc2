// JSON of model files. Python programs wrote most of these files.
#pragma once

#include <string_view>

#include "base/json_fwd.h"
#include "pando/values/result.h"

namespace pando {

// As parse_json and parse_json_object, but NaN, Infinity and -Infinity are read too. They are no
// JSON, but Python's json module writes them. Each becomes the object that the transformers library
// writes in its place: {"__float__": "Infinity"}.
Result<Json> parse_python_json(std::string_view text);
Result<Json> parse_python_object(std::string_view text, std::string_view source);

}  // namespace pando
