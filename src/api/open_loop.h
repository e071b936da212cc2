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
// Over weights alone. Without a tokenizer there is no text. Without `forms` answers have no form.
// Without `answers` reasoning and calls are not separated from the text.
Result<std::unique_ptr<EngineLoop>> open_loop(const DeviceModel& weights,
                                              const LoopOptions& options,
                                              const Tokenizer* tokenizer = nullptr,
                                              grammar::FormCache* forms = nullptr,
                                              const AnswerFormat* answers = nullptr);

}  // namespace pando
