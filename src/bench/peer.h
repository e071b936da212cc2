// Another engine's command, timed by itself.
#pragma once

#include <map>
#include <string>

#include "pando/values/result.h"

namespace pando::bench {

// Runs `command` by the shell, every {name} in it replaced by its value; the last line that it
// prints, but for blank ones, must be a number above 0, which is returned. A name is of small
// letters; {{name}} stands for {name}, and all other braces are left to the shell. Errors:
// kInvalidArgument for a {name} that has no value, kUnavailable for a command that fails or prints
// no such number, with what it said.
Result<double> run_peer(const std::string& command,
                        const std::map<std::string, std::string>& values);

}  // namespace pando::bench
