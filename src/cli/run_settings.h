// What decides the answers of a run.
#pragma once

#include "cli/run_options.h"

namespace pando::cli {

// The sampling defaults of a command that draws answers, from files; prints what it took. An error
// may be one of the model, unless the user asked for them: loading the model says more of it.
Status take_generation_config(RunOptions& options);

// All that decides the answers: they can be continued only with the same settings.
Result<AnswerFile::Settings> run_settings(const RunOptions& options, const Engine& engine);

}  // namespace pando::cli
