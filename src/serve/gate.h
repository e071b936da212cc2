// What lets others in until it is closed.
#pragma once

#include <mutex>

namespace pando::serve {

// Once close() is back nobody is inside, and nobody comes in. Any thread.
class Gate {
 public:
  template <class Act>
  void pass(const Act& act) {
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
