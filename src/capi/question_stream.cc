#include "capi/question_stream.h"

#include <tuple>

#include "pando/score.h"
#include "task/choices.h"

namespace pando::capi {

QuestionStream::QuestionStream(std::shared_ptr<Engine> engine, std::vector<Question> questions)
    : reader_(std::move(engine), bell_, /*wants_text=*/true) {
  for (Question& question : questions) {
    first_.push_back(n_questions_);
    n_questions_ += question.choices.empty() ? 1 + question.requests[0].alternatives.size() : 1;
    completions_.add_question(question.requests);
    choices_.push_back(std::move(question.choices));
    for (Request& request : question.requests) reader_.add(std::move(request));
  }
}

void QuestionStream::on_event(size_t request, Event event) {
  const size_t index = completions_.question_of(request);
  const std::vector<std::string>& choices = choices_[index];
  if (choices.empty()) {
    if (!event.completion || event.completion->alternatives.empty())
      return void(ready_.emplace_back(first_[index], std::move(event)));
    const std::vector<std::vector<Completion>> joint = {{std::move(*event.completion)}};
    size_t at = first_[index];
    for (Completion& one : taken_apart(joint)) {
      event.completion = std::move(one);
      ready_.emplace_back(at++, event);
    }
    return;
  }
  if (!event.completion || !completions_.add_completion(request, std::move(*event.completion)))
    return;
  event.choice = 0;
  event.completion = likeliest_choice(choices, completions_.of(index));
  event.text = event.completion->text;
  ready_.emplace_back(first_[index], std::move(event));
}

Result<What> QuestionStream::next(Deadline deadline, Event& event, size_t& question) {
  const Result<What> what = reader_.next(
      deadline, [this] { return !ready_.empty(); },
      [this](size_t request, Event one) { on_event(request, std::move(one)); });
  if (what && *what == What::kEvent) {
    std::tie(question, event) = std::move(ready_.front());
    ready_.pop_front();
  }
  return what;
}

}  // namespace pando::capi
