#include "serve/route/routed_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "serve/offload.h"
#include "serve/route/event_blocks.h"
#include "serve/route/event_filter.h"
#include "serve/route/replica_exchange.h"
#include "serve/route/retry_pause.h"
#include "serve/route/route_door.h"
#include "serve/route/routed_body.h"
#include "serve/routed.h"

namespace pando::serve {
namespace {

constexpr int kMostBreaks = 3;  // that a request survives
constexpr std::chrono::milliseconds kStartTime{1000};
constexpr std::string_view kResponsesPath = "/v1/responses";

// A replica failed, though it may answer another request. 504: the request took too long.
bool is_failure(int status) { return status >= 500 && status != 504; }

enum class Outcome {
  kDone,       // the client has its answer
  kElsewhere,  // not from this replica, maybe from another
  kBroken,     // the replica broke off after it had the request
  kLost,       // nobody can answer
};

class RoutedRequest {
 public:
  RoutedRequest(RouteDoor& door, const Route& route, HttpRequest& request, Replier& replier)
      : door_(door), route_(route), request_(request), replier_(replier) {}

  boost::asio::awaitable<void> run() {
    std::optional<KeyLimits::Place> place;
    if (route_.read_body != nullptr) {
      std::optional<KeyLimits::Place> entered = door_.limits.enter(request_.isolation_key);
      if (!entered) {
        HttpResponse limited = refused_by_limit();
        co_await replier_.send(std::move(limited));
        co_return;
      }
      place.emplace(std::move(*entered));
    }
    if (!request_.body.empty())
      read_ = co_await offload(door_.text_pool, 0, [this] {
        return read_routed_body(route_, request_.body, door_.owner(request_.isolation_key));
      });
    if (read_.refusal) {
      co_await replier_.send(std::move(*read_.refusal));
      co_return;
    }
    target_ = request_.path + (request_.query.empty() ? "" : "?" + request_.query);
    work_ = work_of(read_);
    const Outcome outcome = co_await try_replicas();
    if (outcome != Outcome::kDone) co_await give_up();
  }

 private:
  bool has_begun() const { return replier_.has_begun(); }  // something has reached the client

  // One after the other, until one has answered or none is left.
  boost::asio::awaitable<Outcome> try_replicas() {
    for (;;) {
      const std::optional<ReplicaSet::Choice> choice = choose();
      if (choice) {
        const Outcome outcome = co_await attempt(*choice);
        if (outcome == Outcome::kDone || outcome == Outcome::kLost) co_return outcome;
        tried_.push_back(choice->replica);
        if (outcome != Outcome::kBroken) continue;
        if (++n_breaks_ > kMostBreaks)
          co_return lose(make_error(ErrorCode::kUnavailable, "{} replicas broke off", n_breaks_));
        continue_end_ = ReplicaSet::Clock::now() + door_.route.continue_time;
      } else if (!may_wait()) {
        co_return Outcome::kLost;
      } else {
        co_await pause();
        tried_.clear();  // one that was full may have room, one that failed may be back
      }
    }
  }

  // No replica can be chosen now. One that was paused is asked for its state at once, so a request
  // that none has refused waits a moment.
  bool may_wait() const {
    const ReplicaSet::Clock::time_point now = ReplicaSet::Clock::now();
    if (has_begun()) return now <= continue_end_;
    return tried_.empty() && problem_.code == ErrorCode::kUnavailable && now <= start_end_;
  }

  std::optional<ReplicaSet::Choice> choose() {
    ReplicaSet::Wanted wanted{.work = work_, .model = read_.model, .excluded = tried_};
    if (has_begun()) {
      wanted.fingerprint = fingerprint_;
    } else if (const std::string id = response_id(); !id.empty()) {
      const std::string name = door_.places.find(id);
      if (auto choice = name.empty() ? std::nullopt : door_.replicas.choose_named(name, wanted))
        return choice;
      if (!name.empty() && is_away(name)) {
        problem_ = make_error(ErrorCode::kUnavailable,
                              "the replica with the response '{}' does not answer now "
                              "(hint: try again later)",
                              one_line(id));
        return std::nullopt;
      }
    }
    Result<ReplicaSet::Choice> choice = door_.replicas.choose(wanted);
    if (choice) return std::move(*choice);
    problem_ = choice.error();
    return std::nullopt;
  }

  // Known, and not up.
  bool is_away(const std::string& name) const {
    return std::ranges::any_of(door_.replicas.facts(), [&](const ReplicaOverview& facts) {
      return facts.name == name && facts.health != ReplicaHealth::kUp;
    });
  }

  // A stored response that the request is about or goes on from.
  std::string response_id() const {
    if (!read_.work.previous_response_id.empty()) return read_.work.previous_response_id;
    const bool is_of_one =
        std::string_view(route_.path).starts_with(kResponsesPath) && !request_.parameter.empty();
    return is_of_one ? request_.parameter : std::string();
  }

  ReplicaRequest to_replica() const {
    ReplicaRequest asked{.target = target_,
                         .content_type = request_.content_type,
                         .accept = request_.accept,
                         .body = request_.body};
    if (!is_head(request_.method)) asked.method = request_.method;
    if (!begun_body_.empty()) asked.body = begun_body_;
    if (!door_.route.key.empty())
      asked.headers.emplace_back("Authorization", "Bearer " + door_.route.key);
    asked.headers.emplace_back("X-Request-Id", request_.log_id);
    const uint64_t seed = std::strtoull(request_.id.c_str(), nullptr, 16);
    asked.headers.emplace_back(
        kRoutedHeader,
        fmt::format(R"({{"id":"{}","created":{},"seed":{},"owner":"{:x}","tokens":{}}})",
                    request_.id, created_, seed, door_.owner(request_.isolation_key),
                    read_.work.stream ? "true" : "false"));
    return asked;
  }

  boost::asio::awaitable<Outcome> attempt(const ReplicaSet::Choice& choice) {
    const Ticket ticket{door_.replicas, choice.ticket};
    Replica& replica = *choice.replica;
    if (const std::string begun = has_begun() ? filter_.begun() : std::string(); !begun.empty())
      begun_body_ = with_begun(request_.body, begun);
    const ReplicaRequest asked = to_replica();
    ReplicaExchange exchange(choice.replica);
    ReplicaHead head;
    boost::system::error_code error = co_await exchange.ask(asked, head);
    begun_body_ = std::string();  // may be long
    if (error) {
      co_await throw_if_left();
      if (is_own_fault(error)) co_return Outcome::kElsewhere;
      const std::string problem = "cannot ask: " + error.message();
      co_return exchange.has_sent() ? break_off(replica, problem) : fail(replica, problem);
    }
    if (head.status == 503 || head.status == 401 || head.status == 403)
      co_return fail(replica, fmt::format("it answers with status {}", head.status));
    if (head.status == 200 && head.is_stream()) {
      const Outcome outcome = co_await pass_stream(exchange, head, choice);
      co_return outcome;
    }
    if (head.status == 200 && head.is_lines()) {
      const Outcome outcome = co_await pass_lines(exchange, head, choice);
      co_return outcome;
    }
    HttpResponse response{.status = head.status, .content_type = std::move(head.content_type)};
    error = co_await exchange.read_all(response.body);
    if (error) {
      co_await throw_if_left();
      co_return break_off(replica, "no answer: " + error.message());
    }
    response.headers = std::move(head.headers);
    if (is_failure(head.status)) {
      if (!refusal_) refusal_ = std::move(response);
      co_return break_off(replica, fmt::format("it answers with status {}", head.status));
    }
    if (head.status == 429) pause_.refused(response.headers);
    if (head.status == 429 || (head.status == 404 && !response_id().empty())) {
      if (!refusal_ || refusal_->status != 429) refusal_ = std::move(response);
      co_return Outcome::kElsewhere;
    }
    if (has_begun())
      co_return lose(
          make_error(ErrorCode::kInternal, "another refused it with status {}", head.status));
    note_answer(replica, head.status);
    co_await replier_.send(std::move(response));
    co_return Outcome::kDone;
  }

  // Until the stream ends or breaks off.
  boost::asio::awaitable<Outcome> pass_stream(ReplicaExchange& exchange, const ReplicaHead& head,
                                              const ReplicaSet::Choice& choice) {
    const bool is_continued = has_begun();
    const std::string& fingerprint =
        head.fingerprint.empty() ? choice.fingerprint : head.fingerprint;
    if (is_continued && fingerprint != fingerprint_) co_return Outcome::kElsewhere;  // it is new
    fingerprint_ = fingerprint;
    bool is_told = false;
    std::string bytes;
    for (;;) {
      const boost::system::error_code error = co_await exchange.read(bytes);
      if (error && held_.empty()) {
        co_await throw_if_left();
        co_return break_off(*choice.replica, "a stream broke off: " + error.message());
      }
      if (error || bytes.empty()) break;
      Result<std::string> blocks = filter_.take(bytes);
      if (!blocks) co_return lose(blocks.error());
      if (filter_.has_begun() && !std::exchange(is_told, true)) {
        door_.replicas.first_token(choice.ticket);
        if (is_continued) note_continued(*choice.replica);
      }
      held_ += *blocks;
      if (!held_.empty() && !ends_stream(held_)) {
        co_await begin_stream(head, *choice.replica);
        std::string passed = std::exchange(held_, std::string());
        co_await replier_.write(std::move(passed));
      }
      if (!filter_.failure().empty()) co_return break_off(*choice.replica, filter_.failure());
    }
    if (const Status status = filter_.finish(); !status && held_.empty())
      co_return lose(status.error());
    co_await begin_stream(head, *choice.replica);
    std::string last = std::exchange(held_, std::string());
    co_await replier_.end_stream(std::move(last));
    co_return Outcome::kDone;
  }

  // A stream of JSON lines tells no tokens. It is lost if it breaks off behind its first line.
  boost::asio::awaitable<Outcome> pass_lines(ReplicaExchange& exchange, const ReplicaHead& head,
                                             const ReplicaSet::Choice& choice) {
    std::string bytes;
    for (;;) {
      const boost::system::error_code error = co_await exchange.read(bytes);
      const bool has_all = ends_lines(held_);
      if (error && !has_all) {
        co_await throw_if_left();
        const std::string problem = "a stream broke off: " + error.message();
        const Outcome broken = break_off(*choice.replica, problem);
        co_return has_begun() ? lose(make_error(ErrorCode::kInternal, "{}", problem)) : broken;
      }
      if (error || bytes.empty()) break;
      held_ += bytes;
      const size_t n_whole = ends_lines(held_) ? 0 : held_.rfind('\n') + 1;
      if (n_whole == 0) continue;
      if (!has_begun()) door_.replicas.first_token(choice.ticket);
      co_await begin_stream(head, *choice.replica);
      std::string passed = held_.substr(0, n_whole);
      held_.erase(0, n_whole);
      co_await replier_.write(std::move(passed));
    }
    co_await begin_stream(head, *choice.replica);
    std::string last = std::exchange(held_, std::string());
    co_await replier_.end_stream(std::move(last));
    co_return Outcome::kDone;
  }

  boost::asio::awaitable<void> begin_stream(const ReplicaHead& head, const Replica& replica) {
    if (has_begun()) co_return;
    note_answer(replica, head.status);
    for (const auto& header : head.headers) replier_.headers.push_back(header);
    co_await replier_.begin_stream(head.content_type.c_str());
  }

  // An operation that failed may have done so because the client is gone.
  boost::asio::awaitable<void> throw_if_left() {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (state.cancelled() != boost::asio::cancellation_type::none)
      throw boost::system::system_error(boost::asio::error::operation_aborted);
  }

  // The replica did not answer.
  Outcome fail(Replica& replica, std::string problem) {
    ++replica.n_failed;
    door_.replicas.pause(replica, std::move(problem));
    return Outcome::kElsewhere;
  }

  // It did not answer to the end.
  Outcome break_off(Replica& replica, std::string problem) {
    fail(replica, std::move(problem));
    if (has_begun()) {
      filter_.restart();
    } else {  // the next one begins anew
      filter_ = EventFilter();
      held_.clear();
    }
    return Outcome::kBroken;
  }

  Outcome lose(const Error& error) {
    problem_ = error;
    return Outcome::kLost;
  }

  boost::asio::awaitable<void> pause() {
    const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
    std::chrono::nanoseconds time = pause_.next();
    if (has_begun())  // not behind the end
      time = std::clamp(continue_end_ - ReplicaSet::Clock::now(), time.zero(), time);
    boost::asio::steady_timer timer(executor, time);
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_await throw_if_left();
  }

  HttpResponse refused_by_limit() {
    door_.metrics.count_refused_by_limit();
    return error_response(
        {429, "rate_limit_error", "too_many_requests",
         fmt::format("the API key has {} open requests, expected fewer (hint: try again later)",
                     door_.limits.most_open())});
  }

  boost::asio::awaitable<void> give_up() {
    if (has_begun()) {
      door_.metrics.count_lost();
      const ask::HttpError error{
          502, "server_error", "replica_lost",
          "the replica was lost, and no other could go on: " + problem_.message()};
      co_await replier_.fail_stream(error);
      co_return;
    }
    HttpResponse response;
    if (refusal_)
      response = std::move(*refusal_);
    else if (problem_.code == ErrorCode::kNotFound)
      response = wrong_request(404, "model_not_found", problem_.message(), "model");
    else
      response = error_response({503, "server_error", "no_replica", problem_.message()});
    co_await replier_.send(std::move(response));
  }

  void note_continued(Replica& replica) {
    ++replica.n_continued;
    door_.metrics.count_continued();
  }

  // The client has its answer from this replica.
  void note_answer(const Replica& replica, int status) {
    if (door_.route.show_replica) replier_.headers.emplace_back("X-Pando-Routed-To", replica.name);
    if (route_.path == kResponsesPath && status == 200 && read_.is_stored)
      door_.places.add("resp_" + request_.id, replica.name);
  }

  struct Ticket {
    ReplicaSet& replicas;
    TicketId id;
    ~Ticket() { replicas.ended(id); }
  };

  RouteDoor& door_;
  const Route& route_;
  HttpRequest& request_;
  Replier& replier_;
  const int64_t created_ = std::time(nullptr);
  ReadBody read_;
  RoutedWork work_;
  std::string target_;      // path and query
  std::string begun_body_;  // with what has begun, while it is sent; empty: the body as it came
  std::vector<std::shared_ptr<Replica>> tried_;
  std::optional<HttpResponse> refusal_;  // of a replica, if there is no other answer
  Error problem_{.code = ErrorCode::kUnavailable, .found = "no replica is available"};
  EventFilter filter_;
  std::string held_;  // of a stream: blocks that end it, until it has ended
  std::string fingerprint_;
  int n_breaks_ = 0;
  RetryPause pause_;
  const ReplicaSet::Clock::time_point start_end_ = ReplicaSet::Clock::now() + kStartTime;
  ReplicaSet::Clock::time_point continue_end_;
};

}  // namespace

boost::asio::awaitable<void> route_request(RouteDoor& door, const Route& route,
                                           HttpRequest& request, Replier& replier) {
  RoutedRequest routed(door, route, request, replier);
  co_await routed.run();
}

}  // namespace pando::serve
