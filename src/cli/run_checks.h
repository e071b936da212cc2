// Checks the options of a run against its model and its input.
#pragma once

#include "cli/run_options.h"
#include "pando/file_input.h"

namespace pando::cli {

// A run, --dry-run and inspect call this once, before anything is asked. Errors: a chat template
// that cannot do what the options ask of it, a schema that no answer can follow, an input of which
// no line can be answered, a template without {context} for lines that have a context. Also prints
// what of a schema is not enforced. An input that cannot be read twice is not read here: each of
// its lines fails by itself.
Status check_run(const RunOptions& options, const Model& model, const FileInput& input);

}  // namespace pando::cli
