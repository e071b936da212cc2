// Time of the phases of a forward pass.
#pragma once

#include <chrono>

namespace pando::exec {

// Adds the time since the last lap to one phase after another.
class Stopwatch {
 public:
  void lap() { last_ = Clock::now(); }
  void lap(double& phase) {
    const Clock::time_point now = Clock::now();
    phase += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace pando::exec
