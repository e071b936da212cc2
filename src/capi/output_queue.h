// Results that a thread makes and one consumer pulls.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "capi/group_reader.h"
#include "pando/values/result.h"

namespace pando::capi {

class OutputQueue {
 public:
  // The bell, which outlives the queue, rings when there is news.
  explicit OutputQueue(Bell& bell) : bell_(bell) {}

  // Any thread.
  void push(std::string result);
  // No results follow; the consumer gets those before it first.
  void end(Status status);
  // The consumer gets nothing more.
  void cancel();
  bool is_cancelled() const;
  // Waits as long as a megabyte waits for the consumer, who has not cancelled.
  void wait_for_room();

  // One consumer.
  Result<What> next(Deadline deadline, std::string& result);

 private:
  // Nothing: there is no news.
  std::optional<Result<What>> try_next(std::string& result);

  Bell& bell_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::deque<std::string> results_;
  size_t n_bytes_ = 0;  // of these
  std::optional<Status> end_;
  bool is_cancelled_ = false;
};

}  // namespace pando::capi
