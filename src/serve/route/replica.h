// A server that a router sends requests to.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "serve/route/replica_connection.h"
#include "serve/route/replica_url.h"

namespace pando::serve {

// Its connections, and what is counted of it. Any thread.
class Replica {
 public:
  using Clock = std::chrono::steady_clock;

  // "http://10.0.0.7:8000"
  static std::string name_of(const ReplicaUrl& url, const boost::asio::ip::tcp::endpoint& endpoint);

  Replica(ReplicaUrl url, boost::asio::ip::tcp::endpoint endpoint, boost::asio::ssl::context* tls);

  const ReplicaUrl url;
  const boost::asio::ip::tcp::endpoint endpoint;
  const std::string name;  // by its address

  std::atomic<uint64_t> n_requests{0}, n_failed{0}, n_continued{0};

  // A connection that is kept for this executor, or null.
  std::unique_ptr<ReplicaConnection> take_idle(const boost::asio::any_io_executor& executor);
  std::unique_ptr<ReplicaConnection> make_connection(boost::asio::any_io_executor executor) const;
  // Keeps it for another request, if there is room and it can take one.
  void keep(std::unique_ptr<ReplicaConnection> connection);
  // Closes those that were kept for too long.
  void close_old(Clock::time_point now);
  // Closes all that are kept, and keeps no more.
  void close_idle();

  // One request under way here, while it exists.
  class Exchange {
   public:
    // `connection` must live longer; used on its executor.
    Exchange(Replica& replica, ReplicaConnection& connection);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    void has_come() { state_->last_bytes = Clock::now().time_since_epoch().count(); }

   private:
    friend class Replica;
    struct State {
      boost::asio::any_io_executor executor;
      ReplicaConnection* connection;  // null: over. Used on the executor
      Clock::time_point begun;
      std::atomic<Clock::rep> last_bytes;
    };
    Replica& replica_;
    const std::shared_ptr<State> state_;
  };
  size_t n_exchanges() const;
  // Closes the connections of requests without a byte since then.
  void cut_silent(Clock::time_point since);
  // Closes those of requests that began before then, and gives their number.
  size_t cut_begun(Clock::time_point before);

 private:
  struct Idle {
    std::unique_ptr<ReplicaConnection> connection;
    Clock::time_point since;
  };
  static void close(const std::shared_ptr<Exchange::State>& exchange);

  boost::asio::ssl::context* const tls_;
  mutable std::mutex mutex_;
  std::vector<Idle> idle_;  // the latest last
  bool keeps_ = true;
  std::set<std::shared_ptr<Exchange::State>> exchanges_;
};

}  // namespace pando::serve
