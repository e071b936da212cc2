// The name of the JSON type, for headers that only refer to it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pando {

// A value of JSON. Objects keep the order in which their members were written.
using Json = nlohmann::ordered_json;

}  // namespace pando
