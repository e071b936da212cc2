// Questions that are worked on together, and what has come of them.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/engine.h"

namespace pando::capi {

struct Question {
  std::vector<Request> requests;     // one, or those that score the
  std::vector<std::string> choices;  // of which the answer is the likeliest
};

// Submits no more at a time than the engine takes; the rest follows from `next`. One consumer calls
// `next`, any thread `cancel`. A request with alternatives, without choices, is as many questions
// more, which are told behind it.
class Asking {
 public:
  Asking(std::shared_ptr<Engine> engine, std::vector<Question> questions);
  ~Asking() {
    if (n_open_ > 0) cancel();
  }

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  enum class What { kEvent, kTimeout, kEnd, kCancelled };
  // `event` gets what happened, `question` the index of whose it is. The first error cancels all;
  // it is returned from then on.
  Result<What> next(Deadline deadline, Event& event, size_t& question);
  void cancel();
  size_t n_questions() const { return n_questions_; }

 private:
  struct Part {  // a request
    size_t question;
    Request request;
  };
  struct State;  // shared with the listeners

  Status submit_some();
  Error end(const Error& error);
  // Adds to told_ what the consumer hears of an event; nothing as long as choices are not all
  // scored.
  void hear(size_t part, Event event);

  std::shared_ptr<Engine> engine_;
  std::vector<Question> questions_;
  std::vector<size_t> first_;  // [questions] index, with those that alternatives are
  size_t n_questions_ = 0;     // with these
  std::vector<std::vector<std::vector<Completion>>> scored_;  // [questions][requests][1]
  std::vector<size_t> n_scored_;                              // [questions]
  std::deque<std::pair<size_t, Event>> told_;                 // by question, for the consumer
  std::vector<Part> parts_;
  size_t next_part_ = 0;
  size_t n_open_ = 0;  // answers under way
  // Where the engine took no more, because of others: as many of ours were open.
  std::optional<size_t> refused_at_;
  std::optional<Error> error_;
  std::shared_ptr<State> state_;
};

}  // namespace pando::capi
