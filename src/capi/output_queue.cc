#include "capi/output_queue.h"

#include <utility>

namespace pando::capi {
namespace {

constexpr size_t kOutputRoom = size_t{1} << 20;  // bytes

}  // namespace

void OutputQueue::push(std::string result) {
  {
    const std::lock_guard lock(mutex_);
    n_bytes_ += result.size();
    results_.push_back(std::move(result));
  }
  bell_.ring();
}

void OutputQueue::end(Status status) {
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(status);
  }
  bell_.ring();
}

void OutputQueue::cancel() {
  {
    const std::lock_guard lock(mutex_);
    if (!end_ || !results_.empty()) is_cancelled_ = true;  // else nothing is left to cancel
  }
  has_room_.notify_all();
  bell_.ring();
}

bool OutputQueue::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

void OutputQueue::wait_for_room() {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return is_cancelled_ || n_bytes_ < kOutputRoom; });
}

std::optional<Result<What>> OutputQueue::try_next(std::string& result) {
  const std::lock_guard lock(mutex_);
  if (is_cancelled_) return What::kCancelled;
  if (!results_.empty()) {
    result = std::move(results_.front());
    results_.pop_front();
    n_bytes_ -= result.size();
    has_room_.notify_all();
    return What::kEvent;
  }
  if (!end_) return std::nullopt;
  if (*end_) return What::kEnd;
  return Result<What>(end_->error());
}

Result<What> OutputQueue::next(Deadline deadline, std::string& result) {
  for (;;) {
    bell_.quiet();
    if (const auto what = try_next(result)) return *what;
    if (deadline && Waker::Clock::now() >= *deadline) return What::kTimeout;
    bell_.wait(deadline);
  }
}

}  // namespace pando::capi
