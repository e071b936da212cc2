// Where the engine leaves what a connection is to hear.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "pando/request.h"

namespace pando::serve {

struct Heard {
  size_t request;  // index among those asked together
  Event event;
};

// Filled by the engine's thread, emptied by the connection's. The engine may hold it longer than
// the connection lives, so it knows the connection only by `on_mail`.
class Mailbox {
 public:
  explicit Mailbox(std::function<void()> on_mail) : on_mail_(std::move(on_mail)) {}

  void put(Heard heard) {
    const std::lock_guard lock(mutex_);
    heard_.push_back(std::move(heard));
    if (heard_.size() == 1 && on_mail_) on_mail_();
  }
  std::vector<Heard> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }
  bool is_open() const {
    const std::lock_guard lock(mutex_);
    return on_mail_ != nullptr;
  }
  // The connection is gone.
  void close() {
    const std::lock_guard lock(mutex_);
    on_mail_ = nullptr;
    heard_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Heard> heard_;
  std::function<void()> on_mail_;  // called under the lock, for the first of several
};

}  // namespace pando::serve
