// Server-sent events.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace pando::ask {

// "data: {...}" and an empty line.
std::string stream_event(const Json& data);
// The same after a line "event: NAME", where NAME is the text of the field "type".
std::string named_event(const Json& data);
constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";  // of OpenAI's streams

}  // namespace pando::ask
