#include "batch/inbox.h"

#include <utility>

namespace pando {
namespace {

constexpr size_t kMostWaitingBytes = size_t{1} << 20;  // but for the last record

}  // namespace

void Inbox::notify_events() {
  {
    std::lock_guard lock(mutex_);
    has_events_ = true;
  }
  arrived_.notify_one();
}

bool Inbox::put(InputRecord record) {
  {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return closed_ || record_bytes_ < kMostWaitingBytes; });
    if (closed_) return false;
    record_bytes_ += record.text.size() + sizeof record;
    records_.push_back(std::move(record));
  }
  arrived_.notify_one();
  return true;
}

void Inbox::end_of_input(std::string failure) {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    failure_ = std::move(failure);
  }
  arrived_.notify_one();
}

void Inbox::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  has_room_.notify_one();
}

void Inbox::wait_until(std::chrono::steady_clock::time_point deadline, bool or_input) {
  std::unique_lock lock(mutex_);
  arrived_.wait_until(lock, deadline,
                      [&] { return has_events_ || (or_input && (ended_ || !records_.empty())); });
  has_events_ = false;
}

std::optional<InputRecord> Inbox::take_record() {
  std::optional<InputRecord> record;
  {
    std::lock_guard lock(mutex_);
    if (records_.empty()) return record;
    record = std::move(records_.front());
    records_.pop_front();
    record_bytes_ -= record->text.size() + sizeof *record;
  }
  has_room_.notify_one();
  return record;
}

bool Inbox::input_is_over() const {
  std::lock_guard lock(mutex_);
  return ended_ && records_.empty();
}

std::string Inbox::input_failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace pando
