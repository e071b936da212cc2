// The replicas of a router: which are well, what each holds, and where a request goes.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/router.h"
#include "serve/route/replica.h"
#include "serve/route/replica_status.h"
#include "serve/route/route_options.h"

namespace pando::serve {

enum class ReplicaHealth {
  kUnknown,  // not asked yet
  kUp,
  kDown,      // does not answer, or not as it should
  kDraining,  // takes no new requests, or is to leave
};
const char* replica_health_name(ReplicaHealth health);

// For people and for metrics.
struct ReplicaOverview {
  std::string name;
  ReplicaHealth health = ReplicaHealth::kUnknown;
  std::string problem;  // of one that is down
  std::vector<std::string> models;
  uint64_t longest = 0;
  uint64_t n_requests = 0, n_failed = 0, n_continued = 0;
  double n_open = 0, seconds_left = 0;
};

// Any thread.
class ReplicaSet {
 public:
  using Clock = Replica::Clock;
  using Address = std::pair<ReplicaUrl, boost::asio::ip::tcp::endpoint>;

  // `tls` must live longer.
  ReplicaSet(const RouteOptions& options, boost::asio::ssl::context* tls);

  struct Wanted {
    RoutedWork work;               // with its deadline in seconds from now
    std::string_view model;        // empty: any
    std::string_view fingerprint;  // empty: any
    std::span<const std::shared_ptr<Replica>> excluded;
  };
  struct Choice {
    std::shared_ptr<Replica> replica;
    std::string fingerprint;
    TicketId ticket = 0;
  };
  // Chooses, and counts the request as sent there. Errors: kNotFound if no replica has the model,
  // kUnavailable if none that may be chosen is up.
  Result<Choice> choose(const Wanted& wanted);
  // Counts a request as sent to this replica. Nothing if it is not up.
  std::optional<Choice> choose_named(const std::string& name, const Wanted& wanted);
  void first_token(TicketId ticket);
  void ended(TicketId ticket);

  // A connection failed, or the replica takes no requests now. It gets none until it has told its
  // status again. It is asked at once, or later if it was paused just before.
  void pause(const Replica& replica, std::string problem);

  // Sets the addresses of all replicas. Replicas at others drain, and leave once they have no open
  // requests. is_whole: no address of a replica is still unknown.
  void replace(const std::vector<Address>& addresses, bool is_whole = true);

  // Replicas to ask for their status now. For each, `take`, `fail` or `ask_again` must follow.
  struct Due {
    std::shared_ptr<Replica> replica;
    uint64_t held_version = 0;
  };
  std::vector<Due> due(Clock::time_point now);
  void take(const Replica& replica, ReplicaStatus status, Clock::time_point asked);
  // is_refused: its machine refuses connections. Open connections then belong to a program that
  // runs but takes no more, such as one that drains. It does not count as silent.
  void fail(const Replica& replica, std::string problem, bool is_refused = false);
  // This router could not ask, which says nothing about the replica.
  void ask_again(const Replica& replica) noexcept;
  // Cuts requests at replicas that have been silent for too long. Replicas that are to leave do so
  // once they have no requests.
  void look(Clock::time_point now);

  bool is_any_up() const;
  bool is_any_unknown() const;
  std::vector<std::shared_ptr<Replica>> up() const;
  std::vector<ReplicaOverview> facts() const;
  // Reported names of models, each with the least of its longest sequences.
  std::vector<std::pair<std::string, uint64_t>> models() const;
  // Closes all connections that are kept.
  void close_idle();
  // Takes lines about replicas that change their health. Set before the first use.
  std::function<void(const std::string&)> log;

 private:
  struct Entry {
    std::shared_ptr<Replica> replica;
    ReplicaId id = 0;
    ReplicaHealth health = ReplicaHealth::kUnknown;
    bool is_leaving = false, is_asked = false;
    std::optional<Clock::time_point> silent_since;  // the first question without a sign of life
    std::string problem;
    ReplicaStatus status;  // the latest, without pieces
    Clock::time_point next_ask;
    int n_failures = 0;  // to tell its status, one after the other
    int n_breaks = 0;    // times that it broke requests, each less than kSteady after the last
    Clock::time_point up_since;
    Clock::time_point last_asked;  // for the latest status
    Clock::time_point asks_from;   // a status that was asked for before does not make it kUp
  };
  Clock::duration until_asked(const Entry& entry, Clock::duration pause) const;
  double seconds(Clock::time_point time) const;
  Entry* find(const Replica& replica);
  Entry* find(std::string_view name);
  Choice sent(Entry& entry, const Wanted& wanted);
  void set_health(Entry& entry, ReplicaHealth health, std::string problem);

  const RouteOptions& options_;
  boost::asio::ssl::context* const tls_;
  const Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  Router router_;
  std::vector<Entry> entries_;
  bool is_whole_ = true;
  std::vector<ReplicaId> excluded_;  // kept for its memory
};

}  // namespace pando::serve
