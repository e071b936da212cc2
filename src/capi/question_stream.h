// The answers to questions that are asked together, pulled one event at a time.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/request_group.h"
#include "api/waker.h"
#include "task/question_completions.h"

namespace pando::capi {

struct Question {
  std::vector<Request> requests;     // one, or those that score the
  std::vector<std::string> choices;  // of which the answer is the likeliest
};

// One consumer calls `next`, any thread `cancel`. A request with alternatives, without choices, is
// as many questions more, which are told behind it.
class QuestionStream {
 public:
  QuestionStream(std::shared_ptr<Engine> engine, std::vector<Question> questions);

  using Deadline = std::optional<Waker::Clock::time_point>;
  enum class What { kEvent, kTimeout, kEnd, kCancelled };
  // `event` gets what happened, `question` the index of whose it is. The first error cancels all;
  // it is returned from then on. Where it throws std::bad_alloc, events may be lost.
  Result<What> next(Deadline deadline, Event& event, size_t& question);
  void cancel() { group_.cancel_all(); }
  // Ends the stream because the consumer had no memory for an event. Returns the stream's first
  // error: an earlier one, or this.
  const Error& end_without_memory() noexcept;
  size_t n_questions() const { return n_questions_; }

 private:
  // Adds to ready_ what the consumer gets of an event; nothing as long as choices are not all
  // scored.
  void on_event(size_t request, Event event);

  std::shared_ptr<Engine> engine_;
  Waker waker_;
  RequestGroup group_;
  QuestionCompletions completions_;
  std::vector<std::vector<std::string>> choices_;  // [questions]
  std::vector<size_t> first_;  // [questions] index, with those that alternatives are
  size_t n_questions_ = 0;     // with these
  std::deque<std::pair<size_t, Event>> ready_;  // by question, for the consumer
  std::optional<Error> error_;
  Error no_memory_;  // made while there was some
};

}  // namespace pando::capi
