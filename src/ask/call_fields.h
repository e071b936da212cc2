// Reads the fields of a body or a line that are about calls and reasoning.
#pragma once

#include <optional>
#include <string_view>

#include "base/fields.h"
#include "base/json.h"
#include "pando/values/request.h"

namespace pando::ask {

// "tools", "tool_choice" and "parallel_tool_calls". A tool without parameters gets an object
// without properties. One tool that is strict makes all of them strict.
void read_tools(Fields& fields, ChatOptions& chat, CallOptions& calling);

// "functions" and "function_call", the older names of these. True if the body uses them. Its answer
// then has at most one call, as "function_call".
bool read_functions(Fields& fields, ChatOptions& chat, CallOptions& calling);

// "thinking_budget", which other servers call "thinking_token_budget".
void read_thinking_budget(Fields& fields, std::optional<int>& out);

// Converts a message of the older form to one with "tool_calls", or with the role "tool". `n_calls`
// counts the calls of a conversation; ids are made from it.
bool is_older_message(const Json& message);
Result<Json> newer_message(const Json& message, size_t& n_calls);

// Settings of other servers' caches. They change no answer.
inline constexpr std::string_view kCachingFields[] = {"prompt_cache_breakpoint", "cache_control"};

bool is_of_caching(std::string_view name);
JsonValue::Object without_caching(const Json& object);

}  // namespace pando::ask
