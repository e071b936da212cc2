// Options that come as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "pando/answer.h"
#include "pando/engine.h"

namespace pando::capi {

// All errors are kInvalidArgument and name the field.
Result<ModelOptions> read_model_options(std::string_view text);
Result<EngineOptions> read_engine_options(std::string_view text);

// A line of the batch runner's input, or a part of one, without "chat" and "logits_hash", which go
// into `defaults`.
Result<nlohmann::json> read_line_json(std::string_view text, AnswerOptions& defaults);

}  // namespace pando::capi
