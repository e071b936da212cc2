#include "task/question_completions.h"

#include <algorithm>
#include <utility>

namespace pando {

void QuestionCompletions::add_question(std::span<const Request> requests) {
  Range& range = questions_.emplace_back();
  range = {.first = completions_.size(), .n = requests.size()};
  for (const Request& request : requests) {
    const auto n = static_cast<size_t>(std::max(request.sampling.n, 1));  // engines refuse less
    n_of_.push_back(n);
    question_of_.push_back(questions_.size() - 1);
    range.n_open += n;
  }
  completions_.resize(n_of_.size());
}

bool QuestionCompletions::add_completion(size_t request, Completion completion) {
  const auto choice = static_cast<size_t>(completion.choice);
  completions_[request].resize(n_of_[request]);
  completions_[request][choice] = std::move(completion);
  return --questions_[question_of_[request]].n_open == 0;
}

std::span<std::vector<Completion>> QuestionCompletions::of(size_t question) {
  const Range& range = questions_[question];
  return std::span(completions_).subspan(range.first, range.n);
}

}  // namespace pando
