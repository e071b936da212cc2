// Server-sent events.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "pando/values/token.h"

namespace pando::ask {

// "data: {...}" and an empty line.
std::string stream_event(const Json& data);
// Returns the same after a line "event: NAME", where NAME is the text of the field "type".
std::string named_event(const Json& data);
// ": tokens REQUEST CHOICE ID ...": a comment before the events of an answer's new tokens, for the
// router that reads the stream. One 0 stands for no tokens.
std::string tokens_comment(size_t request, size_t choice, std::span<const Token> tokens);
constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";  // of OpenAI's streams

}  // namespace pando::ask
