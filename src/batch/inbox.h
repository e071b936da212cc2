// The runner's thread gets these: records of the input, and word that the engine has events.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "batch/record_scanner.h"

namespace pando {

// Any thread may put; one takes. Shared with the engine's listeners, which may outlive the runner.
class Inbox {
 public:
  void notify_events();
  // Waits for room. False: no more is wanted.
  bool put(InputRecord record);
  // The last of the input; `failure` says why it was not read to its end, or nothing.
  void end_of_input(std::string failure);
  // No more records are wanted.
  void close();

  // Waits until there are events that were not waited for yet or, where `or_input`, a record or the
  // input's end, but not beyond the deadline.
  void wait_until(std::chrono::steady_clock::time_point deadline, bool or_input);
  std::optional<InputRecord> take_record();

  bool input_is_over() const;  // nothing comes after what was taken
  std::string input_failure() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_, has_room_;
  bool has_events_ = false;
  std::deque<InputRecord> records_;
  size_t record_bytes_ = 0;
  bool ended_ = false, closed_ = false;
  std::string failure_;
};

}  // namespace pando
