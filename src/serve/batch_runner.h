// Runs batches: their lines are requests like those of clients, with a deadline far away.
#pragma once

#include <memory>

#include "pando/values/engine_options.h"
#include "serve/state_door.h"

namespace pando::serve {

// Lines that are asked at a time: half of what the engine has room for is left to clients.
int most_batched(const EngineOptions& options);

// A thread that asks lines of all batches in turn, through the same handler as requests of clients,
// while it holds the lock of the state directory. It keeps half of the engine's running answers
// free, and policies that use deadlines let clients go first.
class BatchRunner {
 public:
  explicit BatchRunner(StateDoor& door);
  // Once the door's pools are joined and its shutdown guard is closed.
  ~BatchRunner();

  void start();  // throws std::system_error if there is no thread
  // Needs no memory. Lines under way are given up, and asked again by whoever runs the batch next.
  void stop() noexcept;
  void join() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::serve
