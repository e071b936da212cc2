// `pando serve --models`.
#pragma once

#include <functional>

#include "cli/serve_options.h"
#include "pando/model.h"
#include "serve/models/model_set.h"

namespace pando::cli {

// Measures step times if policy or budget ask for it. between: called before each measured step.
Status learn_steps(const Model& model, EngineOptions& options,
                   const std::function<void()>& between = {});

// A server of the models of a file, before it listens. `o`: read by read_serve_options.
Result<std::unique_ptr<serve::ModelSet>> open_model_set(const ServeOptions& o);

}  // namespace pando::cli
