// Tool calls in the messages of a conversation.
#pragma once

#include <nlohmann/json.hpp>

#include "pando/values/result.h"

namespace pando {

// Clients send the arguments of a call as JSON in a string or as an object. This turns them into
// the form that the template reads; missing arguments become {}. kInvalidArgument, with the field's
// name, for arguments that are not an object.
Status settle_arguments(nlohmann::ordered_json& message, bool as_objects);

}  // namespace pando
