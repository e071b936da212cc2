// Options that come as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fields.h"
#include "base/json_fwd.h"
#include "pando/answer.h"
#include "pando/batch.h"
#include "pando/engine.h"

namespace pando::capi {

// All errors are kInvalidArgument and name the field.
Result<ModelOptions> read_model_options(std::string_view text);
Result<EngineOptions> read_engine_options(std::string_view text);

// Reads what asks a question: the fields of a line of the batch runner's input, or a part of them,
// and "chat" and "logits_hash", which go into `defaults`.
Result<Json> read_question_json(std::string_view text, AnswerOptions& defaults);
// These two names.
std::span<const std::string_view> question_flags();

// Options of a batch: "task", "ordered", "too_long", "with", those of the task, and for answers
// those of questions, which hold for lines that do not say otherwise.
Result<BatchOptions> read_batch_options(std::string_view text);

// One of `names`, the first one where the field is absent.
template <class T>
T one_of(Fields& fields, const char* field, std::span<const std::pair<std::string_view, T>> names) {
  const std::string found = fields.string(field, names.front().first);
  std::string expected;
  for (const auto& [name, value] : names) {
    if (found == name) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  fields.refuse(field, expected);
  return names.front().second;
}

}  // namespace pando::capi
