#include "serve/route/replica_exchange.h"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace pando::serve {
namespace {

constexpr std::chrono::milliseconds kConnectTime{2000};

}  // namespace

boost::asio::awaitable<ReplicaExchange::SystemError> ReplicaExchange::ask_over(
    std::unique_ptr<ReplicaConnection> connection, const ReplicaRequest& request,
    ReplicaHead& head) {
  watched_.reset();
  connection_ = std::move(connection);
  watched_.emplace(*replica_, *connection_);
  has_sent_ = true;
  const SystemError error = co_await connection_->ask(request, head);
  watched_->has_come();
  co_return error;
}

boost::asio::awaitable<ReplicaExchange::SystemError> ReplicaExchange::ask(
    const ReplicaRequest& request, ReplicaHead& head,
    std::optional<std::chrono::milliseconds> time) {
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  has_time_ = time.has_value();
  std::unique_ptr<ReplicaConnection> kept;
  if (!has_time_) kept = replica_->take_idle(executor);
  if (kept) {
    const SystemError error = co_await ask_over(std::move(kept), request, head);
    // The replica may have closed it just then. One that was cut is silent.
    if (!error || connection_->has_bytes() || error == boost::asio::error::operation_aborted)
      co_return error;
  }
  std::unique_ptr<ReplicaConnection> fresh = replica_->make_connection(executor);
  const SystemError failed = co_await fresh->open(time.value_or(kConnectTime));
  if (failed) co_return failed;
  if (time) fresh->limit(*time);
  const SystemError error = co_await ask_over(std::move(fresh), request, head);
  co_return error;
}

boost::asio::awaitable<ReplicaExchange::SystemError> ReplicaExchange::read(std::string& bytes) {
  const SystemError error = co_await connection_->read(bytes);
  if (error) co_return error;
  watched_->has_come();
  if (bytes.empty()) {
    watched_.reset();
    if (!has_time_) replica_->keep(std::move(connection_));
  }
  co_return SystemError();
}

boost::asio::awaitable<ReplicaExchange::SystemError> ReplicaExchange::read_all(std::string& body) {
  std::string piece;
  for (;;) {
    const SystemError error = co_await read(piece);
    if (error || piece.empty()) co_return error;
    body += piece;
  }
}

}  // namespace pando::serve
