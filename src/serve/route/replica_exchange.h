// One request to one replica.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "serve/route/replica.h"
#include "serve/route/replica_connection.h"

namespace pando::serve {

// Used on the executor of the coroutine that asks. It may be cut from elsewhere (Replica::cut),
// and then gives errors. All calls throw boost::system::system_error once the coroutine is
// cancelled.
class ReplicaExchange {
 public:
  using SystemError = boost::system::error_code;

  explicit ReplicaExchange(std::shared_ptr<Replica> replica) : replica_(std::move(replica)) {}

  // Sends over a connection that is kept, or a new one, and waits for the head of the answer. With
  // a time, what follows fails once it is over.
  boost::asio::awaitable<SystemError> ask(
      const ReplicaRequest& request, ReplicaHead& head,
      std::optional<std::chrono::milliseconds> time = std::nullopt);
  // The replica may have had the request: it was sent over a connection that stood.
  bool has_sent() const { return has_sent_; }
  // Some bytes of the answer; empty: it is over, and the connection is kept for another request.
  boost::asio::awaitable<SystemError> read(std::string& bytes);
  // All that is left of them.
  boost::asio::awaitable<SystemError> read_all(std::string& body);

 private:
  boost::asio::awaitable<SystemError> ask_over(std::unique_ptr<ReplicaConnection> connection,
                                               const ReplicaRequest& request, ReplicaHead& head);

  const std::shared_ptr<Replica> replica_;
  std::unique_ptr<ReplicaConnection> connection_;
  std::optional<Replica::Exchange> watched_;  // before the connection goes
  bool has_time_ = false, has_sent_ = false;
};

}  // namespace pando::serve
