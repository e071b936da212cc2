// The connections that are open.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace pando::serve {

struct OpenConnection {
  size_t thread;  // that serves it
  boost::asio::any_io_executor executor;
  // Used on the executor; empty while nobody serves it.
  std::function<void()> on_drain, on_cut;
  boost::asio::cancellation_signal cancellation;  // of what serves it; used on the executor
};

// Any thread.
class ConnectionRegistry {
 public:
  explicit ConnectionRegistry(size_t n_threads) : n_on_(n_threads) {}

  // A connection is in the registry as long as this exists.
  class Registration {
   public:
    Registration(ConnectionRegistry* registry, std::shared_ptr<OpenConnection> connection)
        : registry_(registry), connection_(std::move(connection)) {}
    Registration(Registration&&) noexcept = default;
    Registration& operator=(Registration&&) = delete;
    ~Registration() {
      if (connection_) registry_->remove(connection_);
    }
    const std::shared_ptr<OpenConnection>& connection() const { return connection_; }

   private:
    ConnectionRegistry* registry_;
    std::shared_ptr<OpenConnection> connection_;
  };
  Registration add(size_t thread, boost::asio::any_io_executor executor) {
    auto connection = std::make_shared<OpenConnection>();
    connection->thread = thread;
    connection->executor = std::move(executor);
    const std::lock_guard lock(mutex_);
    connections_.insert(connection);
    ++n_on_[thread];
    return {this, connection};
  }
  // The thread, of the first `n_threads`, that serves the fewest connections.
  size_t emptiest(size_t n_threads) const {
    const std::lock_guard lock(mutex_);
    const auto end = n_on_.begin() + static_cast<std::ptrdiff_t>(n_threads);
    return static_cast<size_t>(std::min_element(n_on_.begin(), end) - n_on_.begin());
  }
  // Tells each to close once its request is answered. Throws std::bad_alloc where there is no
  // memory to tell some of them, as cut() does.
  void drain() { notify(&OpenConnection::on_drain); }
  // Tells each to close now.
  void cut() { notify(&OpenConnection::on_cut); }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return connections_.size();
  }

 private:
  void remove(const std::shared_ptr<OpenConnection>& connection) {
    const std::lock_guard lock(mutex_);
    connections_.erase(connection);
    --n_on_[connection->thread];
  }
  void notify(std::function<void()> OpenConnection::*callback) {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<OpenConnection>& connection : connections_)
      boost::asio::post(connection->executor, [connection, callback] {
        if (const auto& call = (*connection).*callback) call();
      });
  }

  mutable std::mutex mutex_;
  std::set<std::shared_ptr<OpenConnection>> connections_;
  std::vector<size_t> n_on_;  // [threads] connections
};

}  // namespace pando::serve
