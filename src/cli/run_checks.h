// What is wrong with the options of a run for its model and its input.
#pragma once

#include "cli/run_options.h"
#include "pando/file_input.h"

namespace pando::cli {

// Told once and before anything is asked, the same by a run, --dry-run and inspect: a chat template
// that cannot do what is asked of it, a schema that no answer can follow, an input of which no line
// can be answered, a template without a place for what lines have. Also prints what may be meant
// otherwise in a schema or a template. An input that cannot be read twice is not looked at: each of
// its lines fails by itself.
Status check_run(const RunOptions& options, const Model& model, const FileInput& input);

}  // namespace pando::cli
