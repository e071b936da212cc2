// Values of JSON, whose objects keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>

#include "text/chat/jinja_value.h"

namespace pando::jinja {

Value value_of(const nlohmann::ordered_json& json);

}  // namespace pando::jinja
