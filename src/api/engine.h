// Opens an engine with options that are not public.
#pragma once

#include <memory>

#include "engine/loop_options.h"
#include "pando/engine.h"

namespace pando {

// Engine::open, with the options that the public ones leave out.
Result<std::unique_ptr<Engine>> open_engine(std::shared_ptr<const Model> model,
                                            const LoopOptions& options);

}  // namespace pando
