// Texts to be classified.
#include <memory>

#include "ask/classified.h"
#include "ask/line.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

class ClassifyLine : public TextLine {
  void add_results(const Completion& answer, const LineWriting& with, Json& output) const override {
    add_labels(answer, with.options.classify, with.model, questions[0].classified->first, output);
  }
};

}  // namespace

Result<std::unique_ptr<Line>> read_classify_line(const Json& json, const LineContext& context) {
  constexpr std::string_view kFields[] = {"id", "text", "text_pair", "metadata"};
  auto line = std::make_unique<ClassifyLine>();
  if (Status status = begin_line(json, context, *line); !status) return status.error();
  Question question{.metadata = Json::object()};
  ClassifiedText text{.options = context.options.classify};
  Fields fields(json);
  only_without_answers(fields, kFields);
  read_metadata(fields, question.metadata);
  fields.text("text", text.first);
  if (fields.has("text_pair")) {
    text.second.emplace();
    fields.text("text_pair", *text.second);
  }
  if (!fields.status()) return fields.status().error();
  if (!fields.has("text")) return invalid_argument("the line has no 'text'");
  question.classified = std::move(text);
  question.request.pooling = Pooling::kLast;  // no answer is drawn
  line->ask(std::move(question));
  return std::unique_ptr<Line>(std::move(line));
}

}  // namespace pando::ask
