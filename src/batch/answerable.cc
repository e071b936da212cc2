// Checks before a batch: whether the model has what the lines need, and whether the options for all
// lines fit together.
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "api/model_access.h"
#include "base/errors.h"
#include "batch/line_parser.h"
#include "engine/options.h"
#include "pando/preview.h"

namespace pando {
namespace {

// The error with which the engine would refuse the request's options, whatever its prompt is;
// nothing if it would accept them.
std::optional<Error> wrong_options(const Model& model, const Request& request) {
  Request probe = request;
  probe.tokens = {0, 0};
  const ModelInfo info = model.info();
  const Status status =
      check_request(probe, {.vocab = info.vocab, .max_positions = info.max_positions},
                    {.context = info.max_positions});
  return status ? std::optional<Error>() : status.error();
}

// Does the same for the options that all lines have.
std::optional<Error> wrong_options(const Model& model, const BatchOptions& options) {
  const AnswerOptions& defaults = options.defaults;
  if (options.task != BatchTask::kAnswer || !defaults.choices.empty()) return std::nullopt;
  return wrong_options(model, question_request(defaults, "", ""));
}

// Why a question cannot be asked; nothing if it can.
std::optional<Error> missing_for(const Model& model, const ask::Line& line,
                                 const ask::Question& question, bool checks_options) {
  const Request& request = question.request;
  const bool is_text = request.tokens.empty() || !question.choices.empty();
  if (is_text && !model.has_tokenizer()) return model.encode("").error();
  const bool is_chat = !request.messages.empty() || (!line.contexts.empty() && line.options.chat);
  const auto& chat = chat_template_of(model);
  if (is_chat && !chat) return chat.error();
  if (checks_options && question.choices.empty()) return wrong_options(model, request);
  return std::nullopt;
}

// For lines that are only checked: nothing is cut, and nothing is reported.
BatchOptions looking_options(BatchOptions options) {
  options.trec_ids = false;
  options.too_long = TooLong::kError;
  options.on_problem = nullptr;
  return options;
}

}  // namespace

Status check_answerable(const Model& model, std::istream& input, const BatchOptions& given) {
  const bool is_wrong = wrong_options(model, given).has_value();
  if (model.has_tokenizer() && chat_template_of(model) && !is_wrong) return {};
  const BatchOptions options = looking_options(given);
  RecordScanner scanner(input, options.format, options.task);
  LineParser parser(model, /*context=*/1, options);
  std::optional<Error> missing;
  uint64_t n_lines = 0;
  while (const std::optional<InputRecord> record = scanner.next()) {
    const Result<std::unique_ptr<ask::Line>> line = parser.parse(*record);
    if (!line && parser.failed()) return {};  // the run says so
    if (!line || *line == nullptr) continue;
    if ((*line)->refused) return {};
    for (const ask::Question& question : (*line)->questions) {
      const std::optional<Error> found = missing_for(model, **line, question, is_wrong);
      if (!found) return {};
      if (!missing) missing = found;
    }
    ++n_lines;
  }
  if (!missing) return {};
  return in_file(
      fmt::format("{} of the input can be answered",
                  n_lines == 1 ? "no line" : fmt::format("none of the {} lines", n_lines)),
      *missing);
}

Status check_template_of_all(const Model& model, std::istream& input, const BatchOptions& given) {
  const std::optional<std::string>& text = given.defaults.prompt_template;
  if (given.task != BatchTask::kAnswer || !text || text->find("{context}") != std::string::npos)
    return {};
  const BatchOptions options = looking_options(given);
  BatchOptions without = options;
  without.defaults.prompt_template.reset();
  RecordScanner scanner(input, options.format, options.task);
  LineParser parser(model, /*context=*/1, options), parser_without(model, /*context=*/1, without);
  while (const std::optional<InputRecord> record = scanner.next()) {
    const Result<std::unique_ptr<ask::Line>> line = parser.parse(*record),
                                             other = parser_without.parse(*record);
    if (!line && parser.failed()) return {};  // the run reports it
    // If the line's own template is wrong, both parsers fail.
    if (!line && other && line.error().place.field == "template")
      return in_file(fmt::format("{} {}", record->place(), record->line), line.error());
  }
  return {};
}

}  // namespace pando
