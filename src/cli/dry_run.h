// --dry-run: the first prompts of a run instead of their answers.
#pragma once

#include "cli/run_options.h"

namespace pando::cli {

// Prints options.dry_run prompts; an exit code.
int print_prompts(RunOptions options);

}  // namespace pando::cli
