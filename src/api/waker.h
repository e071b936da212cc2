// Lets a thread sleep until another wakes it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace pando {

// One thread waits, any thread wakes.
class Waker {
 public:
  using Clock = std::chrono::steady_clock;

  void wake() {
    {
      const std::lock_guard lock(mutex_);
      is_awake_ = true;
    }
    changed_.notify_one();
  }
  // Until wake() was called since the last time, or until the deadline, if there is one.
  void wait(std::optional<Clock::time_point> deadline = std::nullopt) {
    std::unique_lock lock(mutex_);
    const auto is_awake = [&] { return std::exchange(is_awake_, false); };
    if (deadline)
      changed_.wait_until(lock, *deadline, is_awake);
    else
      changed_.wait(lock, is_awake);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_awake_ = false;
};

}  // namespace pando
