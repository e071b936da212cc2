// Tools, for chat templates that know none.
#pragma once

#include <nlohmann/json.hpp>

namespace pando {

// Describes tools in the system's message, or before the first user's text. Calls become JSON
// objects with name and arguments in the text of their message, as the description asks for them,
// and their results become messages of the user.
void write_tools(nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools);

}  // namespace pando
