// Lines of an OpenAI batch: {"custom_id", "method", "url", "body"}.
#pragma once

#include <string>

#include "batch/input_line.h"
#include "pando/model.h"

namespace pando {

bool is_openai_line(const nlohmann::json& json);

// kInvalidArgument for a line without a custom_id; whatever else is wrong is said in `refused`,
// for the answer. What a body does not say comes from `defaults` and `embed`.
Result<BatchLine> parse_openai_line(const nlohmann::json& json, const AnswerOptions& defaults,
                                    std::string_view text, const Result<EmbedOptions>& embed);

// The output line, without its end: {"id", "custom_id", "response": {"status_code", "request_id",
// "body"}, "error": null}. `completions` are those of each question, n for each; with `error` they
// are not used. `created` is a time, in seconds since 1970.
std::string openai_output(const BatchLine& line,
                          const std::vector<std::vector<Completion>>& completions,
                          const std::optional<Error>& error, int64_t created, const Model& model);

}  // namespace pando
