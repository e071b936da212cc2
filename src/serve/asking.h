// Requests that a connection has asked the engine together.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "pando/engine.h"
#include "serve/mailbox.h"

namespace pando::serve {

// Used on one executor, the connection's. What is not answered when it goes is cancelled.
class Asking {
 public:
  Asking(Engine& engine, const std::vector<Request>& requests,
         boost::asio::any_io_executor executor);
  ~Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  // Submits what the engine has room for; the rest when an answer of these has made room. Errors:
  // kUnavailable where it has none and nothing of these is under way, others as Engine::submit.
  Status feed();
  bool over() const { return n_answered_ == requests_.size(); }
  // Waits for the next events, in order.
  boost::asio::awaitable<std::vector<Heard>> next();

 private:
  struct Open {
    RequestId id = 0;
    int n_open = 0;  // answers
  };

  Engine& engine_;
  const std::vector<Request>& requests_;
  boost::asio::steady_timer wake_;
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<Open> open_;  // [submitted]
  size_t n_answered_ = 0;   // requests
};

}  // namespace pando::serve
