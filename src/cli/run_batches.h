// A batch from the command line: the input is answered, and the terminal shows how it goes.
#pragma once

#include "cli/run_options.h"

namespace pando::cli {

// Runs the batches of `options` and prints how they went, or prints the first prompts (--dry-run);
// an exit code.
int run_batches(const RunOptions& options);

}  // namespace pando::cli
