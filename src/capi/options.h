// Options that come as JSON.
#pragma once

#include <span>
#include <string_view>

#include "base/json_fwd.h"
#include "pando/answer.h"
#include "pando/engine.h"

namespace pando::capi {

// All errors are kInvalidArgument and name the field.
Result<ModelOptions> read_model_options(std::string_view text);
Result<EngineOptions> read_engine_options(std::string_view text);

// What asks a question: the fields of a line of the batch runner's input, or a part of them, and
// "chat" and "logits_hash", which go into `defaults`.
Result<Json> read_question_json(std::string_view text, AnswerOptions& defaults);
// These two names.
std::span<const std::string_view> question_flags();

}  // namespace pando::capi
