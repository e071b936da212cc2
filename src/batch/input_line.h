// One line of a batch's input.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/answer.h"
#include "pando/batch.h"

namespace pando {

// One prompt of a line: a question about its context, or the line's own prompt. With choices, the
// answer is the likeliest of these behind the prompt; otherwise it is generated.
struct BatchQuestion {
  size_t index = 0;               // in its line
  std::optional<std::string> id;  // of the question; nothing for plain lines
  std::string id_json;            // as it stood in the input, for the output
  std::string text;               // of the question
  Request request;                // prompt or tokens, sampling, id
  std::vector<std::string> choices;
  std::optional<std::vector<std::string>> answers;  // reference answers, where given
};

struct BatchLine {
  std::string id_json;  // as it stood in the input, for the output
  std::vector<BatchQuestion> questions;
};

// kInvalidArgument names field, found and expected. A line without an id gets its number.
Result<BatchLine> parse_line(std::string_view text, uint64_t line_number,
                             const AnswerOptions& defaults);
// The same for a line that is JSON already.
Result<BatchLine> read_line(const nlohmann::json& line, uint64_t line_number,
                            const AnswerOptions& defaults);

}  // namespace pando
