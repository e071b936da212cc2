// One line of a batch's input.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openai/body.h"
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
  bool as_given = false;              // choices stand behind the prompt just as they are, and
  std::vector<std::string> prefixes;  // where given, each behind its own prompt
  std::optional<std::vector<std::string>> answers;  // reference answers, where given
  nlohmann::ordered_json metadata;                  // passed through: the line's and its own
  std::string cut;  // what was done to make its own prompt fit; empty: nothing
};

enum class LineForm {
  kNative,
  kOpenAi,  // of an OpenAI batch
  kEmbed,   // of the other tasks
  kRerank,  // one question for each document
  kScore,
};

struct BatchLine {
  LineForm form = LineForm::kNative;
  std::string id;
  std::string id_json;                // as it stood in the input, for the output
  std::vector<std::string> contexts;  // none, one, or its parts
  AnswerOptions options;              // of questions about them
  std::vector<BatchQuestion> questions;
  // Of the OpenAI form, which answers bad requests too: why this one cannot be asked.
  std::optional<Error> refused;
  openai::AnswerForm answer_form;  // the same
  std::string query;               // of documents to be ranked
  std::string cut;                 // what was done to make it, or one of its prompts, fit
  std::string warning;             // SharingInfo::warning of the engine that answers
};

// The prompt of a question of the line, and what is wanted of it.
Request request_of(const BatchLine& line, const BatchQuestion& question);
// What the engine is asked for it: that, or what scores its choices. Errors: as choice_requests.
Result<std::vector<Request>> requests_of(const Model& model, const BatchLine& line,
                                         const BatchQuestion& question);
// The answers, from the completions of these requests, n of each.
std::vector<Completion> answers_of(const BatchQuestion& question,
                                   std::span<std::vector<Completion>> completions);

// kInvalidArgument for a field that no line has.
Status check_field_names(const nlohmann::json& line);
// kInvalidArgument names field, found and expected. A line without an id gets its number.
Result<BatchLine> parse_line(std::string_view text, uint64_t line_number,
                             const AnswerOptions& defaults);
// The same for a line that is JSON already; `text` is what it was read from, for the order of keys
// in tools and others that a chat template writes out. `embed`: for bodies that ask for embeddings, or
// why the model has none.
Result<BatchLine> read_line(const nlohmann::json& json, uint64_t line_number,
                            const AnswerOptions& defaults, std::string_view text = {},
                            const Result<EmbedOptions>& embed = EmbedOptions());

}  // namespace pando
