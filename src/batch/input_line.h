// One line of a batch's input.
#pragma once

#include <nlohmann/json.hpp>
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
  std::optional<std::string> id;  // of the question; nothing where the line has one prompt
  std::string id_json;            // as it stood in the input, for the output
  std::string text;               // of the question
  size_t part = 0;                // of the line's contexts, the one it is about
  Request request;                // without the prompt where the line has a context
  std::vector<std::string> choices;
  std::optional<std::vector<std::string>> answers;  // reference answers, where given
  nlohmann::ordered_json metadata;                  // passed through: the line's and its own
};

enum class LineForm { kNative, kCompletions, kChat, kEmbeddings };  // the latter: an OpenAI batch's

struct BatchLine {
  LineForm form = LineForm::kNative;
  std::string id;
  std::string id_json;                // as it stood in the input, for the output
  std::vector<std::string> contexts;  // none, one, or its parts
  AnswerOptions options;              // of questions about them
  std::vector<BatchQuestion> questions;
  // Of the OpenAI forms, which answer bad requests too: why this one cannot be asked.
  std::optional<Error> refused;
  std::string model;    // as the request names it
  bool echo = false;    // the answer begins with the prompt
  bool base64 = false;  // embeddings: as bytes of f32
  std::string cut;      // what was done to make it fit the context; empty: nothing
};

// What the engine is asked for a question of the line.
Request request_of(const BatchLine& line, const BatchQuestion& question);

// kInvalidArgument names field, found and expected. A line without an id gets its number.
Result<BatchLine> parse_line(std::string_view text, uint64_t line_number,
                             const AnswerOptions& defaults);
// The same for a line that is JSON already.
Result<BatchLine> read_line(const nlohmann::json& json, uint64_t line_number,
                            const AnswerOptions& defaults);

}  // namespace pando
