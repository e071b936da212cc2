#include "engine/step_turns.h"

#include <algorithm>

namespace pando {

bool StepTurns::take(Claim& claim, Clock::time_point start_by) {
  std::unique_lock lock(mutex_);
  if (claim.has_turn_) is_taken_ = claim.has_turn_ = false;
  claim.start_by_ = start_by;
  claim.is_waiting_ = true;
  waiting_.push_back(&claim);
  choose();
  claim.wake_.wait(lock, [&] { return claim.has_turn_ || claim.has_changed_; });
  claim.has_changed_ = false;
  if (claim.has_turn_) return true;
  claim.is_waiting_ = false;
  std::erase(waiting_, &claim);
  return false;
}

bool StepTurns::try_take(Claim& claim) {
  const std::lock_guard lock(mutex_);
  if (is_taken_ && !claim.has_turn_) return false;
  is_taken_ = claim.has_turn_ = true;
  return true;
}

void StepTurns::give_back(Claim& claim) {
  const std::lock_guard lock(mutex_);
  if (!claim.has_turn_) return;
  is_taken_ = claim.has_turn_ = false;
  choose();
}

void StepTurns::reconsider(Claim& claim) {
  const std::lock_guard lock(mutex_);
  if (!claim.is_waiting_) return;
  claim.has_changed_ = true;
  claim.wake_.notify_one();
}

size_t StepTurns::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void StepTurns::choose() {
  if (is_taken_ || waiting_.empty()) return;
  const auto next = std::ranges::min_element(
      waiting_, {}, [](const Claim* claim) { return claim->start_by_; });
  Claim& claim = **next;
  waiting_.erase(next);
  claim.is_waiting_ = false;
  is_taken_ = claim.has_turn_ = true;
  claim.wake_.notify_one();
}

}  // namespace pando
