// Turns of several engines that share the processors: one computes a step at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace pando {

// Shared by the engines of a process. Any thread.
class StepTurns {
 public:
  using Clock = std::chrono::steady_clock;

  // An engine's claim to the next turn. It outlives every call that names it.
  class Claim {
   private:
    friend class StepTurns;
    Clock::time_point start_by_;
    bool is_waiting_ = false, has_turn_ = false, has_changed_ = false;
    std::condition_variable wake_;
  };

  // Waits for a turn, and gives back the claim's own turn, if it has one, before that. The claim
  // with the least `start_by` goes first, among equals the one that waited longest. start_by: when
  // the step has to begin so that no request is late. False, without a turn: reconsider() was
  // called while it waited.
  bool take(Claim& claim, Clock::time_point start_by);
  // Takes a turn if nobody computes.
  bool try_take(Claim& claim);
  void give_back(Claim& claim);  // nothing without a turn
  // The engine has a new request, and may be more urgent than its claim says.
  void reconsider(Claim& claim);
  size_t n_waiting() const;  // claims that wait for a turn

 private:
  void choose();  // with the lock

  mutable std::mutex mutex_;
  bool is_taken_ = false;
  std::vector<Claim*> waiting_;  // the one that waited longest first
};

}  // namespace pando
