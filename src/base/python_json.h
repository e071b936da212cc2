// JSON from files of models, most of which Python has written.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "pando/result.h"

namespace pando {

// As parse_json and parse_json_object. But NaN, Infinity and -Infinity, which Python's json module
// writes and which are no JSON, are read as the objects that the transformers library writes in
// their place: {"__float__": "Infinity"}.
Result<nlohmann::json> parse_python_json(std::string_view text);
Result<nlohmann::json> parse_python_object(std::string_view text, std::string_view source);

}  // namespace pando
