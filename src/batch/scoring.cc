#include "batch/scoring.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "batch/open_line.h"
#include "task/choices.h"

namespace pando {
namespace {

// A cell of a table is the text of a value.
Result<Json> value_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return Json();
  return found->is_string() ? parse_json(found->get_ref<const std::string&>())
                            : Result<Json>(*found);
}

// Each continuation of a scored line is in a list of its line, or in a row of its own.
std::vector<Json> continuations_of(std::span<const Json> objects) {
  if (objects.size() == 1 && objects[0].contains("scores"))
    return objects[0]["scores"].get<std::vector<Json>>();
  return {objects.begin(), objects.end()};
}

Result<std::vector<ScoredAnswer>> scored_continuation(std::span<const Json> objects,
                                                      const ask::Question& question) {
  ScoredAnswer answer;
  for (const Json& of_one : continuations_of(objects)) {
    const Result<Json> logprob = value_of(of_one, "logprob");
    if (!logprob) return logprob.error();
    if (logprob->is_number()) answer.choice_logprobs.push_back(logprob->get<double>());
  }
  if (answer.choice_logprobs.size() != question.choices.size())
    return invalid_argument("an answer has {}, expected {}, one per continuation",
                            counted(answer.choice_logprobs.size(), "scores"),
                            question.choices.size());
  answer.text = question.choices[likeliest(answer.choice_logprobs)];
  return std::vector{std::move(answer)};
}

}  // namespace

Result<std::vector<ScoredAnswer>> scored_answers(std::span<const Json> objects,
                                                 const ask::Question& question) {
  if (question.as_given) return scored_continuation(objects, question);
  std::vector<ScoredAnswer> answers;
  for (const Json& object : objects) {
    const Result<Json> logprobs = value_of(object, "choice_logprobs");
    if (!logprobs) return logprobs.error();
    const auto text = object.find("text");  // no cell where it is empty
    if (text != object.end() && !text->is_string())
      return invalid_argument("an answer has the text {}, expected a string", found_text(*text));
    ScoredAnswer answer{.part = question.part,
                        .text = text != object.end() ? text->get<std::string>() : ""};
    if (logprobs->is_array())
      for (const Json& value : *logprobs)  // null: the infinite, which JSON has not
        answer.choice_logprobs.push_back(value.is_number() ? value.get<double>() : -HUGE_VAL);
    answers.push_back(std::move(answer));
  }
  return answers;
}

void Scoring::add(OpenLine& open, const ask::Question& question, std::vector<ScoredAnswer> answers,
                  bool is_new) {
  const size_t n_parts = std::max<size_t>(1, open.line->contexts.size());
  const size_t n_questions = open.line->questions.size() / n_parts;
  open.questions.resize(n_questions);
  OpenLine::QuestionState& state = open.questions[question.index % n_questions];
  state.is_new |= is_new && !answers.empty();
  state.answers.resize(std::max(state.answers.size(), answers.size()));
  for (size_t i = 0; i < answers.size(); ++i) state.answers[i].push_back(std::move(answers[i]));
  if (++state.n_over < n_parts) return;
  summary_.questions += state.is_new;
  for (std::vector<ScoredAnswer>& of_parts : std::exchange(state.answers, {}))
    if (question.answers && !of_parts.empty())
      score(question, merged(std::move(of_parts), question.choices));
}

void Scoring::score(const ask::Question& question, const ScoredAnswer& answer) {
  std::string group;
  if (const auto found = question.metadata.find(options_.group_by);
      !options_.group_by.empty() && found != question.metadata.end())
    group = found->is_string() ? found->get<std::string>() : json_text(*found);
  summary_.scores.add(metrics_of(answer, question.choices, *question.answers),
                      !question.choices.empty(), group);
}

}  // namespace pando
