#include "serve/route/replica_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <csignal>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr auto kWatchToken = boost::asio::as_tuple(boost::asio::use_awaitable);
constexpr std::chrono::milliseconds kLongestTick{100};
constexpr std::chrono::milliseconds kStatusTime{2000};  // for an answer about its status
constexpr size_t kMostStatusBytes = size_t{1} << 20;

std::string problem_with(int status) {
  if (status == 401 || status == 403)
    return fmt::format("it refuses the router's key (status {})", status);
  return fmt::format("POST /v1/replica has status {}, expected 200", status);
}

// The addresses of a name. If it has some of IPv4, those of IPv6 are left out: they are the same
// machines.
std::vector<ReplicaSet::Address> addresses_of(
    const ReplicaUrl& url, const boost::asio::ip::tcp::resolver::results_type& found) {
  std::vector<ReplicaSet::Address> addresses;
  bool has_v4 = false;
  for (const auto& one : found) has_v4 |= one.endpoint().address().is_v4();
  for (const auto& one : found)
    if (!has_v4 || one.endpoint().address().is_v4()) addresses.emplace_back(url, one.endpoint());
  return addresses;
}

}  // namespace

class ReplicaWatch::Impl {
 public:
  Impl(ReplicaSet& replicas, const RouteOptions& options,
       std::function<void(const std::string&)> log)
      : replicas_(replicas), options_(options), log_(std::move(log)) {}

  Status start() {
    if (Status status = read_file(); !status) return status;
    boost::asio::ip::tcp::resolver resolver(context_);
    std::string problem;
    for (const ReplicaUrl& url : urls()) {
      boost::system::error_code error;
      const auto found = resolver.resolve(url.host, std::to_string(url.port), error);
      if (!error) found_[url.text()] = addresses_of(url, found);
      if (error) problem = fmt::format("cannot resolve {}: {}", url.host, error.message());
    }
    if (found_.empty() && !problem.empty()) return io_error("{}", problem);
    if (!problem.empty()) log_(problem);
    replace();
    boost::asio::co_spawn(context_, look_after(), boost::asio::detached);
    boost::asio::co_spawn(context_, resolve_again(), boost::asio::detached);
    if (!options_.replicas_file.empty()) {
      hang_ups_.add(SIGHUP);
      boost::asio::co_spawn(context_, wait_for_hang_up(), boost::asio::detached);
    }
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    replicas_.close_idle();  // some belong to this context
  }

 private:
  boost::asio::awaitable<void> look_after() {
    boost::asio::steady_timer timer(context_);
    for (;;) {
      ask_those_due();
      timer.expires_after(std::min(kLongestTick, options_.probe_interval / 2));
      co_await timer.async_wait(kWatchToken);
    }
  }

  void ask_those_due() noexcept {
    try {
      const ReplicaSet::Clock::time_point now = ReplicaSet::Clock::now();
      replicas_.look(now);
      for (ReplicaSet::Due& due : replicas_.due(now)) {
        const std::shared_ptr<Replica> replica = due.replica;
        boost::asio::co_spawn(context_, ask(std::move(due)),
                              [this, replica](const std::exception_ptr& thrown) {
                                if (thrown) replicas_.fail(*replica, "no memory to ask it");
                              });
      }
    } catch (const std::exception&) {  // no memory: at the next tick
    }
  }

  boost::asio::awaitable<void> ask(ReplicaSet::Due due) {
    const ReplicaSet::Clock::time_point asked = ReplicaSet::Clock::now();
    ReplicaHead head;
    std::string body;
    bool is_refused = false;
    const std::string problem = co_await exchange(due, head, body, is_refused);
    if (!problem.empty()) {
      replicas_.fail(*due.replica, problem, is_refused);
    } else if (head.status != 200) {
      replicas_.fail(*due.replica, problem_with(head.status));
    } else if (Result<ReplicaStatus> status = parse_replica_status(body); status) {
      replicas_.take(*due.replica, std::move(*status), asked);
    } else {
      replicas_.fail(*due.replica, status.error().message());
    }
  }

  // The problem in words, or nothing.
  boost::asio::awaitable<std::string> exchange(const ReplicaSet::Due& due, ReplicaHead& head,
                                               std::string& body, bool& is_refused) {
    const std::string question = fmt::format(R"({{"since":{}}})", due.held_version);
    ReplicaRequest request{.method = "POST",
                           .target = "/v1/replica",
                           .content_type = "application/json",
                           .body = question};
    if (!options_.key.empty())
      request.headers.emplace_back("Authorization", "Bearer " + options_.key);
    const boost::asio::any_io_executor executor = context_.get_executor();
    std::unique_ptr<ReplicaConnection> connection = due.replica->take_idle(executor);
    boost::system::error_code error;
    if (connection) {
      connection->limit(kStatusTime);
      error = co_await connection->ask(request, head);
    }
    // One that was kept may have been closed just then.
    if (!connection || (error && error != boost::beast::error::timeout)) {
      connection = due.replica->make_connection(executor);
      error = co_await connection->open(kStatusTime);
      is_refused = error == boost::asio::error::connection_refused;
      if (error) co_return fmt::format("cannot connect: {}", error.message());
      connection->limit(kStatusTime);
      error = co_await connection->ask(request, head);
    }
    std::string piece;
    do {
      if (error) co_return fmt::format("no answer about its status: {}", error.message());
      error = co_await connection->read(piece);
      body += piece;
    } while ((error || !piece.empty()) && body.size() <= kMostStatusBytes);
    due.replica->keep(std::move(connection));
    co_return std::string();
  }

  boost::asio::awaitable<void> resolve_again() {
    boost::asio::ip::tcp::resolver resolver(context_);
    for (;;) {
      resolve_timer_.expires_after(options_.resolve_interval);
      co_await resolve_timer_.async_wait(kWatchToken);
      for (const ReplicaUrl& url : urls()) {
        const std::string port = std::to_string(url.port);
        const auto [error, found] = co_await resolver.async_resolve(url.host, port, kWatchToken);
        if (!error) found_[url.text()] = addresses_of(url, found);  // else those known so far
      }
      replace();
    }
  }

  boost::asio::awaitable<void> wait_for_hang_up() {
    for (;;) {
      const auto [error, signal] = co_await hang_ups_.async_wait(kWatchToken);
      if (error) co_return;
      const Status status = read_file();
      log_(status
               ? fmt::format("read {} again: {} replicas", options_.replicas_file, of_file_.size())
               : fmt::format("the list of replicas stays as it was: {}", status.error().message()));
      if (status) resolve_timer_.expires_at(ReplicaSet::Clock::time_point::min());
    }
  }

  Status read_file() {
    if (options_.replicas_file.empty()) return {};
    Result<std::vector<ReplicaUrl>> urls = read_replica_urls(options_.replicas_file);
    if (!urls) return urls.error();
    of_file_ = std::move(*urls);
    return {};
  }

  std::vector<ReplicaUrl> urls() const {
    std::vector<ReplicaUrl> urls = options_.replicas;
    urls.insert(urls.end(), of_file_.begin(), of_file_.end());
    return urls;
  }

  void replace() {
    std::vector<ReplicaSet::Address> all;
    for (const ReplicaUrl& url : urls()) {
      const std::vector<ReplicaSet::Address>& of_url = found_[url.text()];
      all.insert(all.end(), of_url.begin(), of_url.end());
    }
    replicas_.replace(all);
  }

  ReplicaSet& replicas_;
  const RouteOptions& options_;
  const std::function<void(const std::string&)> log_;
  boost::asio::io_context context_{1};
  boost::asio::steady_timer resolve_timer_{context_};
  boost::asio::signal_set hang_ups_{context_};
  std::vector<ReplicaUrl> of_file_;
  std::map<std::string, std::vector<ReplicaSet::Address>> found_;  // by URL: known addresses
  std::thread thread_;
};

ReplicaWatch::ReplicaWatch(ReplicaSet& replicas, const RouteOptions& options,
                           std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(replicas, options, std::move(log))) {}
ReplicaWatch::~ReplicaWatch() { stop(); }
Status ReplicaWatch::start() { return impl_->start(); }
void ReplicaWatch::stop() { impl_->stop(); }

}  // namespace pando::serve
