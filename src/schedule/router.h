// Chooses the replica that answers a request, by the beginnings that replicas hold and by predicted
// time. Pure: no clock, no sockets; times are arguments, in seconds on one clock, never falling.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pando/values/result.h"
#include "schedule/held_pieces.h"
#include "schedule/piece_index.h"
#include "schedule/replica_load.h"

namespace pando {

enum class RoutePolicy {
  kRoundRobin,   // in turn
  kLeastLoaded,  // with the fewest open requests
  kPrefix,       // that holds most of the prompt, unless it has far more open requests than another
  kLars,         // with the earliest predicted end of the answer (route_policies.cc)
};
// kInvalidArgument for a name that is none of round_robin, least_loaded, prefix, lars.
Result<RoutePolicy> route_policy_named(std::string_view name);

enum class ReplicaState {
  kUp,
  kPaused,    // takes nothing until it is well again; keeps what it holds
  kDraining,  // takes nothing more
};

struct RouterOptions {
  RoutePolicy policy = RoutePolicy::kLars;
  // Limit for all replicas together; each has an equal share at most. About 110 bytes a piece.
  size_t most_pieces = size_t{1} << 21;
  // kLars: seconds that a request may wait more at the holder of its beginning, for each second of
  // prefill that this saves. Above 1, since computing a beginning again also delays requests that
  // come later, and takes room.
  double again = 4;
  // kLars: seconds that a request waits for each prompt before it, for each second of its own
  // prefill, as short prompts overtake long ones. Infinite: none overtakes.
  double patience = 4;
  // kLars: cost of a second after the deadline of the first token, above its own.
  double late = 4;
  // kLars: part of the prefill that is charged for dropping pieces that were used just now; none
  // for the ones that were not used for longest.
  double room = 1;
  // kLars: costs that differ by less than this part of the prefill are equal; those replicas take
  // turns.
  double tie = 0.02;
};

struct RouteChoice {
  ReplicaId replica = 0;
  size_t n_held = 0;  // leading pieces that it holds
  double begins = 0;  // predicted time of the first token
  double ends = 0;    // of the last
};

// For metrics.
struct ReplicaView {
  ReplicaState state = ReplicaState::kUp;
  double n_open = 0;        // requests, of this router and of others
  double seconds_left = 0;  // predicted, of prompts
  size_t n_held = 0;        // pieces
  size_t n_tickets = 0;     // open requests of this router
};

// One thread. A call with the id of a replica that is not there is a bug.
class Router {
 public:
  static constexpr size_t kMostReplicas = PieceIndex::kMostReplicas;

  explicit Router(const RouterOptions& options) : options_(options) {}

  // Adds a replica, kUp, of which nothing is known. Its id is the lowest free one, maybe that of a
  // replica that has left. Fewer than kMostReplicas are there.
  ReplicaId join();
  // Its tickets are void.
  void leave(ReplicaId replica);
  void set_state(ReplicaId replica, ReplicaState state);
  // The replica has a new process, which holds nothing and has no work. Its tickets are void.
  void restarted(ReplicaId replica);
  // Takes a checked report of a replica. asked: when it was asked for, so that requests sent since
  // are added. held: as HeldPieces::since gives it.
  void report(ReplicaId replica, const ReplicaReport& said, const HeldDigest& held, double asked,
              double now);

  // Nothing if every replica is excluded or not kUp. A choice only changes whose turn is next.
  std::optional<RouteChoice> choose(const RoutedWork& work, double now,
                                    std::span<const ReplicaId> excluded = {});

  // A request was sent to this replica, which holds its prompt from now on. The ticket is never 0
  // and never given twice. The replica need not be the chosen one.
  TicketId sent(ReplicaId replica, const RoutedWork& work, double now);
  // The prompt is computed. Only the first call counts, also of `ended`. Void tickets are ignored.
  void first_token(TicketId ticket, double now);
  // The request was answered, failed or given up.
  void ended(TicketId ticket, double now);

  size_t n_replicas() const { return n_replicas_; }
  size_t n_tickets() const { return tickets_.size(); }
  ReplicaView view(ReplicaId replica, double now) const;
  // Memory for pieces and tickets, without the allocator's own.
  size_t n_bytes() const;

 private:
  struct Replica {
    bool is_there = false;
    ReplicaState state = ReplicaState::kUp;
    size_t capacity = std::numeric_limits<size_t>::max();  // pieces, as reported
    HeldPieces held{0};
    ReplicaLoad load;
  };
  struct RouteCandidate {
    ReplicaId replica = 0;
    size_t n_held = 0;
    RoutePrediction predicted;
    double cost = 0;  // the lowest is chosen
    double then = 0;  // the lowest among equal costs
  };
  // kPrefix: a replica with more than so many times the fewest open requests, and so many more, is
  // passed over.
  static constexpr double kOverloadTimes = 2, kOverloadMore = 8;

  Replica& at(ReplicaId replica);
  void limit(ReplicaId replica);
  void share_capacity();
  // Tells the index what has changed in what a replica holds.
  void apply_changes(ReplicaId replica);
  // Fills candidates_ but for their costs.
  void list_candidates(const RoutedWork& work, double now, std::span<const ReplicaId> excluded);
  // Fills in their costs; gives the difference up to which costs are equal.
  double price_candidates(const RoutedWork& work, double now);
  void price_by_prefix();
  double price_by_time(const RoutedWork& work, double now);
  double seconds_unused(const RouteCandidate& candidate, const RoutedWork& work, double now) const;

  RouterOptions options_;
  std::vector<Replica> replicas_;  // by id
  size_t n_replicas_ = 0;          // that are there
  PieceIndex index_;
  std::unordered_map<TicketId, ReplicaId> tickets_;
  TicketId last_ticket_ = 0;
  ReplicaId turn_ = 0;  // comes first among equals
  // Kept for their memory.
  std::vector<uint32_t> n_leading_;  // by id
  std::vector<uint8_t> is_excluded_;
  std::vector<RouteCandidate> candidates_;
  HeldChanges changes_;
};

}  // namespace pando
