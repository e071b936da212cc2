// Options in messages, by the names that they have on the command line.
#pragma once

#include <string>
#include <string_view>

namespace pando {

// The library calls an option kv_memory, the command line --kv-memory: a message with the names of
// the command line, each with `whose` before it ("the server's "). What is in quotes stays.
std::string with_dashes(std::string_view message, std::string_view whose = "");

}  // namespace pando
