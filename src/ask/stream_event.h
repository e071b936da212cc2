// Server-sent events.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace pando::ask {

// "data: {...}" and an empty line.
std::string stream_event(const Json& data);
// The same behind "event: NAME", the text of the field "type".
std::string named_event(const Json& data);
constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";  // of OpenAI's streams

}  // namespace pando::ask
