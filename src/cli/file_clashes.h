// Files that a command would write while it needs what they hold.
#pragma once

#include <CLI/CLI.hpp>

#include "pando/result.h"

namespace pando::cli {

// Refuses an output that is a file which the command reads, or its other output: by whatever name,
// and as standard output or error. To be called when the command has its options.
Status check_clashes(const CLI::App& command);

}  // namespace pando::cli
