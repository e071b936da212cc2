// Requests that are submitted together, whose events a coroutine awaits.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "api/request_group.h"
#include "serve/shutdown_guard.h"

namespace pando::serve {

// Used on one executor, the connection's. What is not over when it goes is cancelled.
class AwaitedGroup {
 public:
  // `requests` outlive it. `shutdown_guard`: open while the executor is there to be told of events.
  // `max_open`: answers that the engine has at a time, or one request; others get in beside it.
  AwaitedGroup(Engine& engine, ShutdownGuard& shutdown_guard, const std::vector<Request>& requests,
               boost::asio::any_io_executor executor, int max_open);

  bool is_over() const { return group_.is_over(); }
  // Submits what there is room for and waits for events; from the first on the engine has begun.
  // The first error ends all. Errors: kUnavailable where the engine is full or memory ran out,
  // others as Engine::submit and what ended a request.
  boost::asio::awaitable<Result<std::vector<GroupEvent>>> next();
  size_t failed() const { return failed_; }  // the request whose error that was

 private:
  std::shared_ptr<boost::asio::steady_timer> wake_;
  size_t failed_ = 0;
  RequestGroup group_;
};

}  // namespace pando::serve
