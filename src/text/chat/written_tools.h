// Writes tools as texts, for chat templates that do not read tools.
#pragma once

#include <nlohmann/json.hpp>

namespace pando {

// Describes tools in the system message, or before the first user's text. Calls become JSON objects
// with name and arguments in the text of their message, as the description asks. Results become
// messages of the user.
void write_tools(nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools);

}  // namespace pando
