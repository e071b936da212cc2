// Whether a model has what the lines of an input need.
#include <istream>
#include <memory>
#include <optional>

#include "api/model_parts.h"
#include "base/errors.h"
#include "batch/line_parser.h"
#include "pando/preview.h"

namespace pando {
namespace {

// What is missing for a question; nothing: it can be asked.
std::optional<Error> missing_for(const Model& model, const wire::Line& line,
                                 const wire::Question& question) {
  const Request& request = question.request;
  const bool is_text = request.tokens.empty() || !question.choices.empty();
  if (is_text && !model.has_tokenizer()) return model.encode("").error();
  const bool is_chat = !request.messages.empty() || (!line.contexts.empty() && line.options.chat);
  const auto& chat = model.parts().chat;
  if (is_chat && !chat) return chat.error();
  return std::nullopt;
}

}  // namespace

Status check_answerable(const Model& model, std::istream& input, const BatchOptions& given) {
  if (model.has_tokenizer() && model.parts().chat) return {};
  BatchOptions options = given;
  options.trec_ids = false;
  options.too_long = TooLong::kError;  // nothing is cut
  options.on_problem = nullptr;
  options.on_line = nullptr;
  RecordScanner scanner(input, options.format, options.task);
  LineParser parser(model, /*context=*/1, options);
  std::optional<Error> missing;
  uint64_t n_lines = 0;
  while (const std::optional<InputRecord> record = scanner.next()) {
    const Result<std::unique_ptr<wire::Line>> line = parser.parse(*record);
    if (!line && parser.failed()) return {};  // the run says so
    if (!line || *line == nullptr) continue;
    if ((*line)->refused) return {};
    for (const wire::Question& question : (*line)->questions) {
      const std::optional<Error> found = missing_for(model, **line, question);
      if (!found) return {};
      if (!missing) missing = found;
    }
    ++n_lines;
  }
  if (!missing) return {};
  return unsupported("{} of the input can be answered: {}",
                     n_lines == 1 ? "no line" : fmt::format("none of the {} lines", n_lines),
                     missing->message);
}

}  // namespace pando
