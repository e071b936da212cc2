// Run settings decide the answers of a run.
#pragma once

#include "cli/run_options.h"

namespace pando::cli {

// Takes the sampling defaults from files and prints what it took. Unless the user asked for them,
// it leaves an error to the loading of the model, whose message says more.
Status take_generation_config(RunOptions& options);

// All that decides the answers: they can be continued only with the same settings.
Result<AnswerFile::Settings> run_settings(const RunOptions& options, const Engine& engine);

}  // namespace pando::cli
