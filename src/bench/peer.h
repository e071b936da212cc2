// Another engine's command, timed by itself.
#pragma once

#include <map>
#include <string>

#include "pando/values/result.h"

namespace pando::bench {

// Runs `command` by the shell, with every {name} in it replaced by its value. Returns the last line
// of its output, blank lines aside, which must be a number above 0. A name has small letters only;
// {{name}} stands for {name}, and all other braces are left to the shell. Errors: kInvalidArgument
// for a {name} without a value; kUnavailable, with the output, for a command that fails or prints
// no such number.
Result<double> run_peer(const std::string& command,
                        const std::map<std::string, std::string>& values);

}  // namespace pando::bench
