// A request whose events are pulled instead of pushed.
#pragma once

#include <memory>
#include <optional>

#include "pando/engine.h"

namespace pando {

// One consumer. Destroying a stream that is not over cancels its request. Must not outlive its
// engine.
class Stream {
 public:
  // Errors: as Engine::submit.
  static Result<Stream> open(Engine& engine, Request request);
  Stream(Stream&&) noexcept;             // the moved-from stream may only be destroyed
  Stream& operator=(Stream&&) noexcept;  // the same
  ~Stream();

  // Waits for the next event; nothing once every answer is complete or an error was returned.
  std::optional<Event> next();

 private:
  struct State;
  explicit Stream(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace pando
