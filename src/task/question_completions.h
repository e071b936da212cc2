// The completions of questions that ask for several requests each.
#pragma once

#include <span>
#include <vector>

#include "pando/values/request.h"

namespace pando {

// Requests count through all questions, in order. One thread.
class QuestionCompletions {
 public:
  // Adds the next question, with its requests.
  void add_question(std::span<const Request> requests);

  size_t n_questions() const { return questions_.size(); }
  size_t n_requests() const { return completions_.size(); }
  size_t question_of(size_t request) const { return question_of_[request]; }
  size_t first_request(size_t question) const { return questions_[question].first; }

  // Keeps a completion. True if its question has all completions now.
  bool add_completion(size_t request, Completion completion);
  // [requests of the question][n]
  std::span<std::vector<Completion>> of(size_t question);
  std::span<const std::vector<Completion>> all() const { return completions_; }

 private:
  struct Range {
    size_t first = 0, n = 0;
    size_t n_open = 0;  // completions to come
  };
  std::vector<Range> questions_;
  std::vector<size_t> question_of_;                   // [requests]
  std::vector<size_t> n_of_;                          // [requests] completions
  std::vector<std::vector<Completion>> completions_;  // [requests][n], or none yet
};

}  // namespace pando
