#include "serve/route/replica.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace pando::serve {
namespace {

constexpr size_t kMostIdle = 64;                  // connections of a replica
constexpr std::chrono::seconds kLongestIdle{30};  // servers close them later

std::string name_by_address(ReplicaUrl url, const boost::asio::ip::tcp::endpoint& endpoint) {
  url.host = endpoint.address().to_string();
  return url.text();
}

}  // namespace

Replica::Replica(ReplicaUrl u, boost::asio::ip::tcp::endpoint e, boost::asio::ssl::context* tls)
    : url(std::move(u)), endpoint(e), name(name_by_address(url, endpoint)), tls_(tls) {}

std::unique_ptr<ReplicaConnection> Replica::make_connection(
    boost::asio::any_io_executor executor) const {
  return make_replica_connection(std::move(executor), url, endpoint, url.is_tls ? tls_ : nullptr);
}

std::unique_ptr<ReplicaConnection> Replica::take_idle(
    const boost::asio::any_io_executor& executor) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point oldest = Clock::now() - kLongestIdle;
  for (auto idle = idle_.rbegin(); idle != idle_.rend(); ++idle) {
    if (idle->connection->executor() != executor || idle->since < oldest) continue;
    std::unique_ptr<ReplicaConnection> connection = std::move(idle->connection);
    idle_.erase(std::next(idle).base());
    return connection;
  }
  return nullptr;
}

void Replica::keep(std::unique_ptr<ReplicaConnection> connection) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point oldest = Clock::now() - kLongestIdle;
  std::erase_if(idle_, [&](const Idle& idle) { return idle.since < oldest; });
  if (keeps_ && connection->can_ask_again() && idle_.size() < kMostIdle)
    idle_.push_back({std::move(connection), Clock::now()});
}

void Replica::close_idle() {
  const std::lock_guard lock(mutex_);
  keeps_ = false;
  idle_.clear();
}

Replica::Exchange::Exchange(Replica& replica, ReplicaConnection& connection)
    : replica_(replica), state_(std::make_shared<State>()) {
  state_->executor = connection.executor();
  state_->connection = &connection;
  has_come();
  const std::lock_guard lock(replica_.mutex_);
  replica_.exchanges_.insert(state_);
}

Replica::Exchange::~Exchange() {
  state_->connection = nullptr;
  const std::lock_guard lock(replica_.mutex_);
  replica_.exchanges_.erase(state_);
}

size_t Replica::n_exchanges() const {
  const std::lock_guard lock(mutex_);
  return exchanges_.size();
}

void Replica::cut(Clock::time_point silent_since) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Exchange::State>& exchange : exchanges_) {
    if (exchange->last_bytes > silent_since.time_since_epoch().count()) continue;
    boost::asio::post(exchange->executor, [exchange] {
      if (exchange->connection != nullptr) exchange->connection->close();
    });
  }
}

}  // namespace pando::serve
