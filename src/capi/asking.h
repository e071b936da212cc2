// Questions that are worked on together, and what has come of them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/engine.h"

namespace pando::capi {

struct Question {
  std::vector<Request> requests;     // one, or one for each of the
  std::vector<std::string> choices;  // the answer is the likeliest of these
};

// Submits no more at a time than the engine takes; the rest follows from `next`. One consumer calls
// `next`, any thread `cancel`.
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

 private:
  struct Part {  // a request
    size_t question;
    Request request;
  };
  struct State;  // shared with the listeners

  Status submit_some();
  Error end(const Error& error);
  // What the consumer hears of an event; nothing as long as choices are not all scored.
  std::optional<Event> heard(size_t part, Event event);

  std::shared_ptr<Engine> engine_;
  std::vector<Question> questions_;
  std::vector<std::vector<Completion>> scored_;  // [questions][choices]
  std::vector<size_t> n_scored_;                 // [questions]
  std::vector<Part> parts_;
  size_t next_part_ = 0;
  size_t n_open_ = 0;  // answers under way
  // Where the engine took no more, because of others: as many of ours were open.
  std::optional<size_t> refused_at_;
  std::optional<Error> error_;
  std::shared_ptr<State> state_;
};

}  // namespace pando::capi
