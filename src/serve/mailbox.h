// Where the engine leaves what a connection is to hear.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "pando/request.h"

namespace pando::serve {

struct Heard {
  size_t request;  // index among those asked together
  Event event;
  std::chrono::steady_clock::time_point when;
};

// Filled by the engine's thread, emptied by the connection's. The engine may hold it longer than
// the connection lives, so it knows the connection only by `on_mail`.
class Mailbox {
 public:
  explicit Mailbox(std::function<void()> on_mail) : on_mail_(std::move(on_mail)) {}

  void put(size_t request, Event event) noexcept {
    const std::lock_guard lock(mutex_);
    if (!on_mail_) return;
    try {
      heard_.push_back({request, std::move(event), std::chrono::steady_clock::now()});
    } catch (const std::exception&) {
      is_lossy_ = true;
    }
    if (is_told_) return;
    try {
      on_mail_();
      is_told_ = true;
    } catch (const std::exception&) {  // with the next event, or the connection's time ends it
    }
  }
  std::vector<Heard> take() {
    const std::lock_guard lock(mutex_);
    is_told_ = false;
    return std::exchange(heard_, {});
  }
  // There was no memory for something that it was to hold.
  bool is_lossy() const {
    const std::lock_guard lock(mutex_);
    return is_lossy_;
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
  bool is_told_ = false;           // since it was emptied last
  bool is_lossy_ = false;
};

}  // namespace pando::serve
