// Tells a consumer that there is news, whether it sleeps or watches a file descriptor.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "api/waker.h"

namespace pando::capi {

using Deadline = std::optional<Waker::Clock::time_point>;

// Less than 0, or too long for a clock: none.
inline Deadline deadline_in(double timeout_s) {
  constexpr double kForEver = 1e9;  // seconds
  if (!(timeout_s >= 0) || timeout_s > kForEver) return std::nullopt;
  using Clock = Waker::Clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
}

// Any thread rings; one thread at a time does the rest.
class Bell {
 public:
  Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell();

  void ring();
  // Sleeps until a ring since the last wait, or the deadline.
  void wait(Deadline deadline) { waker_.wait(deadline); }

  // A descriptor that is readable after each ring until quiet(). Made by the first call, and
  // readable at once. -1: the system gave none.
  int descriptor();
  void quiet();

 private:
  Waker waker_;
  std::atomic<int> descriptor_{-1};
};

}  // namespace pando::capi
