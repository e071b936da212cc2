#include "serve/route/replica.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace pando::serve {
namespace {

constexpr size_t kMostIdle = 64;                  // connections of a replica
constexpr std::chrono::seconds kLongestIdle{30};  // servers close them later

}  // namespace

std::string Replica::name_of(const ReplicaUrl& url,
                             const boost::asio::ip::tcp::endpoint& endpoint) {
  ReplicaUrl by_address = url;
  by_address.host = endpoint.address().to_string();
  return by_address.text();
}

Replica::Replica(ReplicaUrl u, boost::asio::ip::tcp::endpoint e, boost::asio::ssl::context* tls)
    : url(std::move(u)), endpoint(e), name(name_of(url, endpoint)), tls_(tls) {}

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
  if (keeps_ && connection->can_ask_again() && idle_.size() < kMostIdle)
    idle_.push_back({std::move(connection), Clock::now()});
}

void Replica::close_old(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const Idle& idle) { return idle.since < now - kLongestIdle; });
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
  state_->begun = Clock::now();
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

void Replica::close(const std::shared_ptr<Exchange::State>& exchange) {
  boost::asio::post(exchange->executor, [exchange] {
    if (exchange->connection != nullptr) exchange->connection->close();
  });
}

void Replica::cut_silent(Clock::time_point since) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Exchange::State>& exchange : exchanges_)
    if (exchange->last_bytes <= since.time_since_epoch().count()) close(exchange);
}

size_t Replica::cut_begun(Clock::time_point before) {
  const std::lock_guard lock(mutex_);
  size_t n_cut = 0;
  for (const std::shared_ptr<Exchange::State>& exchange : exchanges_) {
    if (exchange->begun >= before) continue;
    close(exchange);
    ++n_cut;
  }
  return n_cut;
}

}  // namespace pando::serve
