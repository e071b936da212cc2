// A run of several processes (--parallel).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "pando/ranks.h"

namespace pando::cli {

// If the command was given --parallel, joins the other processes. On all of them but rank 0
// computes until rank 0 ends, and returns the exit code.
std::optional<int> run_as_rank(const CLI::App& command);
// On rank 0, after run_as_rank; null: this is the only process.
std::shared_ptr<Ranks> joined_ranks();
// Before the process ends.
void leave_ranks();

}  // namespace pando::cli
