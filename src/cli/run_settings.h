// What decides the answers of a run.
#pragma once

#include "cli/run_options.h"

namespace pando::cli {

// --generation-config, where it is given; prints what it took.
Status take_generation_config(RunOptions& options);

// All that decides the answers: they can be continued only with the same settings.
Result<AnswerFile::Settings> run_settings(const RunOptions& options, const Engine& engine);

}  // namespace pando::cli
