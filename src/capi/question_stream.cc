#include "capi/question_stream.h"

#include <algorithm>
#include <tuple>

#include "base/errors.h"
#include "pando/score.h"
#include "task/choices.h"

namespace pando::capi {

QuestionStream::QuestionStream(std::shared_ptr<Engine> engine, std::vector<Question> questions)
    : engine_(std::move(engine)),
      group_(*engine_, {.wants_text = true, .on_events = [this] { waker_.wake(); }}),
      no_memory_(no_memory()) {
  for (Question& question : questions) {
    first_.push_back(n_questions_);
    n_questions_ += question.choices.empty() ? 1 + question.requests[0].alternatives.size() : 1;
    completions_.add_question(question.requests);
    choices_.push_back(std::move(question.choices));
    for (Request& request : question.requests) group_.add(std::move(request));
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

const Error& QuestionStream::end_without_memory() noexcept {
  group_.cancel_all();
  return error_ ? *error_ : error_.emplace(std::move(no_memory_));
}

Result<QuestionStream::What> QuestionStream::next(Deadline deadline, Event& event,
                                                  size_t& question) {
  for (;;) {
    if (!error_ && ready_.empty() && group_.is_over()) return What::kEnd;
    if (!error_ && group_.is_cancelled()) return What::kCancelled;
    group_.submit();
    if (!ready_.empty()) {
      std::tie(question, event) = std::move(ready_.front());
      ready_.pop_front();
      return What::kEvent;
    }
    if (error_) return *error_;
    std::vector<GroupEvent> events = group_.take();
    for (GroupEvent& one : events) {
      if (!one.event.error) {
        on_event(one.request, std::move(one.event));
      } else if (!error_) {
        error_ = *one.event.error;
        group_.cancel_all();
      }
    }
    if (!events.empty()) continue;
    if (deadline && Waker::Clock::now() >= *deadline) return What::kTimeout;
    Deadline until = group_.retry_at();
    if (deadline) until = std::min(*deadline, until.value_or(*deadline));
    waker_.wait(until);
  }
}

}  // namespace pando::capi
