// An engine loop over the processors of this machine.
#pragma once

#include <memory>

#include "api/model_parts.h"
#include "engine/engine_loop.h"

namespace pando {

// `model` outlives the loop. Errors: kInvalidArgument for options that cannot work, kUnavailable
// where memory or threads are short.
Result<std::unique_ptr<EngineLoop>> open_loop(const Model::Parts& model,
                                              const LoopOptions& options);
// Without a tokenizer.
Result<std::unique_ptr<EngineLoop>> open_loop(const model::Weights& weights,
                                              const LoopOptions& options);

}  // namespace pando
