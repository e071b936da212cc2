#include "serve/server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/failures.h"
#include "base/thread_priority.h"
#include "serve/batch_runner.h"
#include "serve/connection.h"
#include "serve/server_state.h"
#include "serve/service.h"
#include "serve/tls.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using SystemError = boost::system::error_code;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr std::chrono::milliseconds kTryAgain{200};
constexpr std::chrono::seconds kLastWords{2};

// Nobody waits for a coroutine's end, nor for what it threw.
constexpr auto kAlone = [](const std::exception_ptr&) {};

// Does the same for a connection, which can be cancelled. With an executor, as
// bind_cancellation_slot has it, a cancellation would need memory.
struct EndOfConnection {
  using cancellation_slot_type = asio::cancellation_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept {
    return connection->cancellation.slot();
  }
  void operator()(const std::exception_ptr&) const {}

  std::shared_ptr<OpenConnection> connection;
};

std::string requests_are(double n) {
  return n == 1 ? "1 request is" : fmt::format("{:.0f} requests are", n);
}

Status listen(const ServerOptions& options, tcp::acceptor& acceptor) {
  SystemError error;
  tcp::resolver resolver(acceptor.get_executor());
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error) return io_error("cannot listen on host '{}': {}", options.host, error.message());
  const tcp::endpoint address = *found.begin();
  acceptor.open(address.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(address, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return io_error(
        "cannot listen on {} port {}: {}{}", options.host, options.port, error.message(),
        error == asio::error::address_in_use ? " (hint: use another port, or 0 for any free port)"
                                             : "");
  return {};
}

// Null for plain HTTP.
Result<std::unique_ptr<asio::ssl::context>> tls_of(const ServerOptions& options) {
  if (options.tls_certificate.empty()) return std::unique_ptr<asio::ssl::context>();
  return make_tls(options.tls_certificate, options.tls_key);
}

}  // namespace

class Server::Impl {
 public:
  Impl(std::unique_ptr<Door> door, std::unique_ptr<asio::ssl::context> tls)
      : door_(std::move(door)),
        options_(door_->options),
        drain_timeout_(options_.drain_timeout),
        tls_(std::move(tls)),
        contexts_(static_cast<size_t>(options_.io_threads)),
        acceptor_(first()),
        signals_(first()) {
    for (Context& context : contexts_) work_.emplace_back(context.get_executor());
  }

  ~Impl() { door_->close(); }

  Status listen() {
    if (Status status = pando::serve::listen(options_, acceptor_); !status) return status;
    const tcp::endpoint address = acceptor_.local_endpoint();
    port_ = address.port();
    is_local_ = address.address().is_loopback();
    door_->local_names_only = door_->keys.empty() && is_local_;
    return {};
  }

  bool is_local() const { return is_local_; }
  uint16_t port() const { return port_; }

  void run(bool stop_on_signals) {
    stops_on_signals_ = stop_on_signals;
    if (stop_on_signals) {
      signals_.add(SIGINT);
      signals_.add(SIGTERM);
    }
    std::vector<std::thread> threads;
    try {
      threads.reserve(contexts_.size());
      for (; n_threads_ < contexts_.size(); ++n_threads_)
        threads.emplace_back([this, &context = contexts_[n_threads_]] {
          ask_for_short_slices();
          serve([&] { context.run(); });
        });
    } catch (const std::exception& error) {  // no thread, or no memory: with those that are there
      log_error("running with fewer connection threads", error);
    }
    ask_for_short_slices();
    BatchRunner* const batches = door_->batches();
    if (batches != nullptr) attempt("cannot run batches", [&] { batches->start(); });
    while (!door_->draining) serve_first(kTryAgain);
    if (batches != nullptr) batches->stop();
    drain();
    if (batches != nullptr) batches->join();
    for (std::thread& thread : threads) thread.join();
  }

  // Needs no memory.
  void stop() {
    door_->draining = true;
    contexts_.front().stop();  // its thread goes on with drain()
  }

 private:
  // One for each thread, so that a connection needs no strand: Asio ends the process where it finds
  // no memory in the middle of one.
  struct Context : asio::io_context {
    Context() : asio::io_context(1) {}
  };
  asio::io_context::executor_type first() { return contexts_.front().get_executor(); }
  void stop_all() {
    for (Context& context : contexts_) context.stop();
  }

  // Sets a flag while a coroutine runs. An operation that finds no memory when it begins destroys
  // the coroutine that awaits it.
  class Running {
   public:
    explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
    ~Running() { flag_ = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    bool& flag_;
  };

  // Serves on the first context for this time, or until it is stopped. Begins what does not run,
  // for the first time or after it found no memory.
  void serve_first(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    contexts_.front().restart();
    if (!is_accepting_ && !door_->draining) begin(&Impl::accept);
    if (!is_waiting_for_signals_ && stops_on_signals_) begin(&Impl::wait_for_signals);
    serve([&] { contexts_.front().run_until(end); });
  }

  void begin(asio::awaitable<void> (Impl::*work)()) noexcept {
    attempt("a task of the server could not start, trying again",
            [&] { asio::co_spawn(first(), (this->*work)(), kAlone); });
  }

  asio::awaitable<void> accept() {
    if (is_accepting_) co_return;
    const Running running(is_accepting_);
    asio::steady_timer timer(first());
    while (acceptor_.is_open()) {
      std::chrono::milliseconds pause{0};
      if (door_->connections.size() >= options_.max_connections) {  // the others wait in the system
        pause = kLookAgain;
      } else {
        try {
          co_await accept_one();
        } catch (const std::exception& error) {  // no file descriptors, for example
          if (!acceptor_.is_open()) break;
          log_error("cannot accept a connection, trying again", error);
          pause = kTryAgain;
        }
      }
      if (pause.count() == 0) continue;
      timer.expires_after(pause);
      co_await timer.async_wait(kToken);
    }
  }

  asio::awaitable<void> accept_one() {
    const size_t thread = door_->connections.emptiest(n_threads_);
    const auto executor = contexts_[thread].get_executor();
    tcp::socket socket = co_await acceptor_.async_accept(executor, asio::use_awaitable);
    ConnectionRegistry::Registration registration = door_->connections.add(thread, executor);
    const EndOfConnection end{registration.connection()};
    asio::co_spawn(executor,
                   serve_connection(*door_, std::move(socket), std::move(registration), tls_.get()),
                   end);
  }

  // No thread ends by what a handler throws: its connection is gone, or is closed in time.
  template <class Run>
  void serve(const Run& run) {
    while (!attempt("a connection failed, the server continues", run)) {
    }
  }

  template <class Act>
  bool attempt(const char* what_else, const Act& act) noexcept {
    try {
      act();
      return true;
    } catch (const std::exception& error) {
      log_error(what_else, error);
      return false;
    }
  }

  void log_error(const char* what, const std::exception& error) noexcept {
    try {
      const auto* of_system = dynamic_cast<const boost::system::system_error*>(&error);
      door_->log(fmt::format("{}: {}", what,
                             of_system != nullptr ? of_system->code().message() : error.what()));
    } catch (const std::exception&) {  // nor is there memory for words
    }
  }
  template <class MakeLine>
  void log(const MakeLine& make_line) noexcept {
    attempt("cannot log", [&] { door_->log(make_line()); });
  }

  asio::awaitable<void> wait_for_signals() {
    if (is_waiting_for_signals_) co_return;
    const Running running(is_waiting_for_signals_);
    for (;;) {
      const auto [failed, signal] = co_await signals_.async_wait(kToken);
      if (failed) co_return;
      if (std::exchange(has_signal_, true)) break;
      if (signal == SIGTERM && options_.sigterm_drain_timeout)
        drain_timeout_ = *options_.sigterm_drain_timeout;
      stop();
    }
    door_->is_cutting = true;  // work that waits for a thread of texts is not begun
    is_over_ = true;
    stop_all();
    log([&] {
      return fmt::format("stopped at once: {} cut off",
                         requests_are(door_->http_metrics().under_way().Value()));
    });
  }

  // On the first context's thread, between its handlers: it goes on without memory.
  void drain() {
    SystemError ignored;
    acceptor_.close(ignored);
    if (options_.on_stop) attempt("cannot report the stop", options_.on_stop);
    log([&] {
      const size_t n_connections = door_->connections.size();
      return fmt::format("stopping: {} in progress, on {} connection{}; they have {} s to finish",
                         requests_are(door_->http_metrics().under_way().Value()), n_connections,
                         n_connections == 1 ? "" : "s", drain_timeout_.count());
    });
    let_go(drain_timeout_, &ConnectionRegistry::drain);
    const double n_cut = door_->http_metrics().under_way().Value();
    if (door_->connections.size() > 0 && !is_over_) {  // they are told, if they listen
      door_->is_cutting = true;
      let_go(kLastWords, &ConnectionRegistry::cut);
    }
    if (is_over_) return;
    is_over_ = true;
    log([&] {
      return n_cut > 0 ? fmt::format("stopped: {} cut off", requests_are(n_cut))
                       : std::string("stopped: all requests are answered");
    });
    signals_.cancel(ignored);
    work_.clear();
    if (door_->connections.size() > 0) return stop_all();
    contexts_.front().restart();
    serve([&] { contexts_.front().run(); });
  }

  // Until all are gone, within the time. They are told again and again: there may be no memory for
  // it, and there may be new requests.
  void let_go(std::chrono::seconds time, void (ConnectionRegistry::*tell)()) {
    const auto end = std::chrono::steady_clock::now() + time;
    bool has_failed = false;  // a failure is logged once
    while (!is_over_ && door_->connections.size() > 0 && std::chrono::steady_clock::now() < end) {
      try {
        (door_->connections.*tell)();
      } catch (const std::exception& error) {
        if (!std::exchange(has_failed, true))
          log_error("could not tell connections that the server is stopping, trying again", error);
      }
      serve_first(kLookAgain);
    }
  }

  const std::unique_ptr<Door> door_;
  const ServerOptions& options_;
  std::chrono::seconds drain_timeout_;  // of the first context's thread
  std::unique_ptr<asio::ssl::context> tls_;
  // Belongs to the first context's thread; before the contexts, with which coroutines may go.
  bool is_accepting_ = false;
  bool is_waiting_for_signals_ = false, stops_on_signals_ = false, has_signal_ = false;
  bool is_over_ = false;          // drained, or stopped at once
  std::deque<Context> contexts_;  // the first runs all that is no connection's
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> work_;  // until it stops
  size_t n_threads_ = 1;  // that run contexts, the first ones
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  bool is_local_ = false;
  uint16_t port_ = 0;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(Engine& engine, const ServerOptions& options) {
  Result<ServerState> state = open_state(options);
  if (!state) return state.error();
  Result<PublicPrefixes> prefixes = PublicPrefixes::make(
      engine.model(), options.public_prefixes, static_cast<size_t>(engine.options().context));
  if (!prefixes) return prefixes.error();
  try {
    return open(std::make_unique<Service>(engine, options, std::move(state->keys),
                                          std::move(*prefixes), std::move(state->responses),
                                          std::move(state->files)));
  } catch (const boost::system::system_error& error) {
    return cannot_start("the server's threads", error.code().message());
  }
}

Result<std::unique_ptr<Server>> Server::open(std::unique_ptr<Door> door) {
  auto tls = tls_of(door->options);
  if (!tls) return tls.error();
  char byte = 0;
  if (getentropy(&byte, 1) != 0)  // of ids
    return io_error("the system provides no random bytes: {}", std::strerror(errno));
  try {
    auto impl = std::make_unique<Impl>(std::move(door), std::move(*tls));
    if (Status status = impl->listen(); !status) return status.error();
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const boost::system::system_error& error) {
    return cannot_start("the server's threads", error.code().message());
  }
}

Status Server::check(const ServerOptions& options) {
  if (const Result<ServerState> state = open_state(options); !state) return state.error();
  if (const auto tls = tls_of(options); !tls) return tls.error();
  asio::io_context context;
  tcp::acceptor acceptor(context);
  return listen(options, acceptor);
}

bool Server::is_local() const { return impl_->is_local(); }
uint16_t Server::port() const { return impl_->port(); }
void Server::run(bool stop_on_signals) { impl_->run(stop_on_signals); }
void Server::stop() { impl_->stop(); }

}  // namespace pando::serve
