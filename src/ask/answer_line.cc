// Lines of Pando's own form: questions about a context, and prompts.
#include <memory>

#include "api/prompt.h"
#include "ask/answer_object.h"
#include "ask/line.h"
#include "ask/question_fields.h"
#include "base/errors.h"
#include "base/json.h"
#include "task/scored_answer.h"

namespace pando::ask {
namespace {

class AnswerLine : public Line {
 public:
  bool answers_apart() const override { return true; }

  std::vector<Json> written(const Answered& answered, const LineWriting& with) const override {
    std::vector<Json> objects;
    if (answered.error != nullptr) return objects;
    for (const Completion& completion : answered.answers[0]) {
      Json object = {{"id", id_json}};
      object.update(answer_object(*this, *answered.question, completion, with.model));
      add_fields(*answered.question, completion, with, object);
      objects.push_back(std::move(object));
    }
    return objects;
  }

 private:
  // Adds what the options of the run want besides.
  void add_fields(const Question& question, const Completion& completion, const LineWriting& with,
                  Json& object) const {
    const ExtraFields& wanted = with.options.with;
    if (wanted.question && !contexts.empty()) object["question"] = question.text;
    if (wanted.answers && question.answers) object["answers"] = *question.answers;
    if (wanted.scores && question.answers) {
      const Metrics metrics = metrics_of(
          ScoredAnswer{.text = completion.text, .choice_logprobs = completion.choice_logprobs},
          question.choices, *question.answers);
      object["exact_match"] = metrics.exact_match;
      object["token_f1"] = metrics.token_f1;
      object["rouge_l"] = metrics.rouge_l;
      if (!question.choices.empty()) {
        object["accuracy"] = metrics.choice_accuracy;
        object["accuracy_norm"] = metrics.choice_accuracy_norm;
      }
    }
    if (wanted.prompt)
      if (const Result<std::string> prompt = prompt_text(with.model, request_of(question)); prompt)
        object["prompt"] = *prompt;
  }
};

}  // namespace

Result<std::unique_ptr<Line>> read_answer_line(const Json& json, const LineContext& context) {
  if (is_openai_line(json)) return read_openai_line(json, context);
  auto line = std::make_unique<AnswerLine>();
  if (Status status = begin_line(json, context, *line); !status) return status.error();
  if (Status status = read_questions({.json = json, .other_fields = context.other_fields}, *line);
      !status)
    return status.error();
  return std::unique_ptr<Line>(std::move(line));
}

}  // namespace pando::ask
