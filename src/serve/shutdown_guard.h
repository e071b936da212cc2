// Calls into what is about to be destroyed.
#pragma once

#include <mutex>

namespace pando::serve {

// Runs what it is given until it is closed. Once close() has returned, nothing runs and nothing
// will. Any thread.
class ShutdownGuard {
 public:
  template <class Act>
  void run_unless_closed(const Act& act) {
    const std::lock_guard lock(mutex_);
    if (is_open_) act();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }

 private:
  std::mutex mutex_;
  bool is_open_ = true;
};

}  // namespace pando::serve
