// The answers to questions that are asked together, pulled one event at a time.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/group_reader.h"
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

  // `event` gets what happened, `question` the index of whose it is. The first error cancels all;
  // it is returned from then on. Where it throws std::bad_alloc, events may be lost.
  Result<What> next(Deadline deadline, Event& event, size_t& question);
  void cancel() { reader_.cancel(); }
  // As GroupReader has it.
  const Error& end_without_memory() noexcept { return reader_.end_without_memory(); }
  size_t n_questions() const { return n_questions_; }
  int descriptor() { return bell_.descriptor(); }

 private:
  // Adds to ready_ what the consumer gets of an event; nothing as long as choices are not all
  // scored.
  void on_event(size_t request, Event event);

  Bell bell_;
  GroupReader reader_;
  QuestionCompletions completions_;
  std::vector<std::vector<std::string>> choices_;  // [questions]
  std::vector<size_t> first_;  // [questions] index, with those that alternatives are
  size_t n_questions_ = 0;     // with these
  std::deque<std::pair<size_t, Event>> ready_;  // by question, for the consumer
};

}  // namespace pando::capi
