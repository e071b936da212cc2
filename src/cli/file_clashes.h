// Files that a command would both read and write.
#pragma once

#include <CLI/CLI.hpp>

#include "pando/values/result.h"

namespace pando::cli {

// Refuses an output that is also an input or another output of the command, under any name, and as
// standard output or error. Call it when the options of the command are parsed.
Status check_clashes(const CLI::App& command);

}  // namespace pando::cli
