#include "serve/route/replica_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "serve/route/name_look_up.h"

namespace pando::serve {
namespace {

constexpr std::chrono::milliseconds kLongestTick{100};
constexpr std::chrono::milliseconds kStatusTime{2000};  // for an answer about its status
constexpr size_t kMostStatusBytes = size_t{1} << 20;

// body: of the answer, which may say why.
std::string problem_with(int status, const std::string& body) {
  if (status == 401 || status == 403)
    return fmt::format("it refuses the router's key (status {})", status);
  std::string why;
  if (const Result<Json> json = parse_json(body); json && json->is_object())
    if (const auto error = json->find("error"); error != json->end() && error->is_object())
      if (const auto said = error->find("message"); said != error->end() && said->is_string())
        why = said->get<std::string>();
  return fmt::format("POST /v1/replica has status {}, expected 200{}", status,
                     why.empty() ? "" : fmt::format(" ('{}')", one_line(why)));
}

}  // namespace

class ReplicaWatch::Impl {
 public:
  Impl(ReplicaSet& replicas, const RouteOptions& options,
       std::function<void(const std::string&)> log)
      : replicas_(replicas), options_(options), log_(std::move(log)) {}

  Status start() {
    Result<std::vector<ReplicaUrl>> urls = read_file();
    if (!urls) return urls.error();
    of_file_ = std::move(*urls);
    attempt([&] { look_up_all(); });
    thread_ = std::thread([this] { run(); });
    return {};
  }

  void stop() {
    is_over_ = true;
    context_.stop();
    if (thread_.joinable()) thread_.join();
    replicas_.close_idle();  // some belong to this context
  }

  bool has_looked_up() const { return has_looked_up_; }

 private:
  using Clock = ReplicaSet::Clock;

  // Whatever fails for lack of memory is tried again at the next tick.
  void run() {
    const auto work = boost::asio::make_work_guard(context_);
    const auto tick = std::min(kLongestTick, options_.probe_interval / 2);
    while (!is_over_) {
      attempt([&] { wait_for_hang_up(); });
      if (std::exchange(has_hang_up_, false)) attempt([&] { read_again(); });
      if (Clock::now() >= next_look_up_) attempt([&] { look_up_all(); });
      attempt([&] { take_looked_up(); });
      attempt([&] { context_.poll(); });  // what has come is no silence, however late it is read
      attempt([&] { ask_those_due(); });
      attempt([&] { context_.run_for(tick); });
    }
  }

  template <class Act>
  void attempt(const Act& act) noexcept {
    try {
      act();
    } catch (const std::exception& error) {
      try {
        log_(fmt::format("cannot look after the replicas, trying again: {}", error.what()));
      } catch (const std::exception&) {  // nor is there memory for words
      }
    }
  }

  void wait_for_hang_up() {
    if (std::exchange(is_waiting_, true)) return;
    try {
      hang_ups_.async_wait([this](const boost::system::error_code& error, int) {
        is_waiting_ = false;
        if (!error) has_hang_up_ = true;
      });
    } catch (const std::exception&) {
      is_waiting_ = false;
      throw;
    }
  }

  void ask_those_due() {
    const Clock::time_point now = Clock::now();
    replicas_.look(now);
    for (ReplicaSet::Due& due : replicas_.due(now)) {
      const std::shared_ptr<Replica> replica = due.replica;
      try {
        boost::asio::co_spawn(context_, ask(std::move(due)),
                              [this, replica](const std::exception_ptr& thrown) {
                                if (thrown) replicas_.ask_again(*replica);
                              });
      } catch (const std::exception&) {  // no memory
        replicas_.ask_again(*replica);
      }
    }
  }

  boost::asio::awaitable<void> ask(ReplicaSet::Due due) {
    const ReplicaSet::Clock::time_point asked = ReplicaSet::Clock::now();
    ReplicaHead head;
    std::string body;
    bool is_refused = false, is_own = false;
    const std::string problem = co_await exchange(due, head, body, is_refused, is_own);
    if (is_own) {
      replicas_.ask_again(*due.replica);
    } else if (!problem.empty()) {
      replicas_.fail(*due.replica, problem, is_refused);
    } else if (head.status != 200) {
      replicas_.fail(*due.replica, problem_with(head.status, body));
    } else if (Result<ReplicaStatus> status = parse_replica_status(body); status) {
      replicas_.take(*due.replica, std::move(*status), asked);
    } else {
      replicas_.fail(*due.replica, status.error().message());
    }
  }

  // The problem in words, or nothing.
  boost::asio::awaitable<std::string> exchange(const ReplicaSet::Due& due, ReplicaHead& head,
                                               std::string& body, bool& is_refused, bool& is_own) {
    const std::string question = fmt::format(R"({{"since":{}}})", due.held_version);
    ReplicaRequest request{.method = "POST",
                           .target = kReplicaPath,
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
      is_own = is_own_fault(error);
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

  // Hosts that are addresses are known at once.
  void look_up_all() {
    next_look_up_ = Clock::now() + options_.resolve_interval;
    for (const ReplicaUrl& url : urls()) {
      boost::system::error_code error;
      const auto address = boost::asio::ip::make_address(url.host, error);
      if (error)
        look_up(url);
      else
        found_[url.text()] = {{url, {address, url.port}}};
    }
    replace();
  }

  void look_up(const ReplicaUrl& url) {
    if (std::ranges::any_of(look_ups_, [&](const auto& one) { return one->url == url; })) return;
    const auto look_up = std::make_shared<LookUp>(url);
    look_ups_.reserve(look_ups_.size() + 1);
    std::thread([look_up] { look_up->run(); }).detach();
    look_ups_.push_back(look_up);
  }

  // The addresses of a name that is no longer found stay.
  void take_looked_up() {
    const auto is_over = [](const std::shared_ptr<LookUp>& one) { return one->is_over.load(); };
    if (std::ranges::none_of(look_ups_, is_over)) return;
    std::vector<std::shared_ptr<LookUp>> over;
    over.reserve(look_ups_.size());
    std::erase_if(look_ups_, [&](const std::shared_ptr<LookUp>& one) {
      if (!is_over(one)) return false;
      over.push_back(one);
      return true;
    });
    for (const std::shared_ptr<LookUp>& one : over) {
      const std::string text = one->url.text();
      if (!one->error) {
        unknown_.erase(text);
        found_[text] = std::move(one->addresses);
      } else if (unknown_.insert(text).second) {
        log_(fmt::format("cannot resolve {}, trying again: {}", one->url.host,
                         one->error.message()));
      }
    }
    replace();
  }

  void read_again() {
    Result<std::vector<ReplicaUrl>> urls = read_file();
    if (urls && urls->empty() && options_.replicas.empty())
      urls = not_found("{} has no replicas", options_.replicas_file);
    if (!urls) {
      log_(fmt::format("the list of replicas stays as it was: {}", urls.error().message()));
      return;
    }
    if (!options_.replicas_file.empty())
      log_(fmt::format("read {} again: {} replicas", options_.replicas_file, urls->size()));
    of_file_ = std::move(*urls);
    look_up_all();
  }

  Result<std::vector<ReplicaUrl>> read_file() const {
    if (options_.replicas_file.empty()) return std::vector<ReplicaUrl>();
    return read_replica_urls(options_.replicas_file);
  }

  std::vector<ReplicaUrl> urls() const {
    std::vector<ReplicaUrl> urls = options_.replicas;
    urls.insert(urls.end(), of_file_.begin(), of_file_.end());
    return urls;
  }

  void replace() {
    std::vector<ReplicaSet::Address> all;
    bool is_whole = true;
    for (const ReplicaUrl& url : urls()) {
      const std::vector<ReplicaSet::Address>& of_url = found_[url.text()];
      is_whole &= !of_url.empty();
      all.insert(all.end(), of_url.begin(), of_url.end());
    }
    replicas_.replace(all, is_whole);
    if (look_ups_.empty()) has_looked_up_ = true;
  }

  ReplicaSet& replicas_;
  const RouteOptions& options_;
  const std::function<void(const std::string&)> log_;
  boost::asio::io_context context_{1};
  // The signal would end the process. Taken by the thread, as all below.
  boost::asio::signal_set hang_ups_{context_, SIGHUP};
  bool is_waiting_ = false, has_hang_up_ = false;  // for the signal; it came
  Clock::time_point next_look_up_;
  std::vector<ReplicaUrl> of_file_;
  std::map<std::string, std::vector<ReplicaSet::Address>> found_;  // by URL: known addresses
  std::set<std::string> unknown_;  // URLs whose names could not be resolved, which was logged
  std::vector<std::shared_ptr<LookUp>> look_ups_;
  std::atomic<bool> is_over_{false}, has_looked_up_{false};
  std::thread thread_;
};

ReplicaWatch::ReplicaWatch(ReplicaSet& replicas, const RouteOptions& options,
                           std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(replicas, options, std::move(log))) {}
ReplicaWatch::~ReplicaWatch() { stop(); }
Status ReplicaWatch::start() { return impl_->start(); }
void ReplicaWatch::stop() { impl_->stop(); }
bool ReplicaWatch::has_looked_up() const { return impl_->has_looked_up(); }

}  // namespace pando::serve
