// Calls of tools in the messages of a conversation.
#pragma once

#include <nlohmann/json.hpp>

#include "pando/result.h"

namespace pando {

// Clients send the arguments of a call as a text of JSON or as an object. Gives a template the form
// that it reads: objects, or texts. Where nothing is given they are {}. kInvalidArgument, with the
// field to blame, for what is no object.
Status settle_arguments(nlohmann::ordered_json& message, bool as_objects);

}  // namespace pando
