#include "schedule/router.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"

namespace pando {
namespace {

constexpr std::pair<std::string_view, RoutePolicy> kRoutePolicies[] = {
    {"round_robin", RoutePolicy::kRoundRobin},
    {"least_loaded", RoutePolicy::kLeastLoaded},
    {"prefix", RoutePolicy::kPrefix},
    {"lars", RoutePolicy::kLars},
};

// In the maps of the router and of the replica's load.
constexpr size_t kTicketBytes = 128;

}  // namespace

Result<RoutePolicy> route_policy_named(std::string_view name) {
  for (const auto& [known, policy] : kRoutePolicies)
    if (known == name) return policy;
  return invalid_option("policy", "is '{}', expected round_robin, least_loaded, prefix or lars",
                        name);
}

ReplicaId Router::join() {
  const auto free = std::ranges::find(replicas_, false, &Replica::is_there);
  const auto id = static_cast<ReplicaId>(free - replicas_.begin());
  PANDO_CHECK(id < kMostReplicas);
  if (free == replicas_.end()) replicas_.emplace_back();
  replicas_[id] = {.is_there = true};
  ++n_replicas_;
  share_capacity();
  return id;
}

void Router::leave(ReplicaId replica) {
  restarted(replica);
  replicas_[replica] = {};
  --n_replicas_;
  share_capacity();
}

void Router::restarted(ReplicaId replica) {
  Replica& known = at(replica);
  known.load.clear([&](TicketId ticket) { tickets_.erase(ticket); });
  known.held.clear(&changes_);
  apply_changes(replica);
}

void Router::set_state(ReplicaId replica, ReplicaState state) { at(replica).state = state; }

void Router::report(ReplicaId replica, const ReplicaReport& said, const HeldDigest& held,
                    double asked, double now) {
  Replica& known = at(replica);
  const ReplicaReport report = said.checked();
  known.load.report(report, asked);
  known.capacity = report.kv_tokens > 0 ? static_cast<size_t>(report.kv_tokens / kPieceTokens)
                                        : options_.most_pieces;
  limit(replica);
  if (held.reset) known.held.clear(&changes_);
  known.held.touch(held.pieces, now, &changes_);
  apply_changes(replica);
}

TicketId Router::sent(ReplicaId replica, const RoutedWork& work, double now) {
  Replica& known = at(replica);
  const TicketId ticket = ++last_ticket_;
  tickets_.emplace(ticket, replica);
  known.load.sent(ticket, work, known.held.n_leading(work.pieces), now);
  known.held.touch(work.pieces, now, &changes_);
  apply_changes(replica);
  return ticket;
}

void Router::first_token(TicketId ticket, double now) {
  const auto found = tickets_.find(ticket);
  if (found != tickets_.end()) replicas_[found->second].load.first_token(ticket, now);
}

void Router::ended(TicketId ticket, double now) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  replicas_[found->second].load.ended(ticket, now);
  tickets_.erase(found);
}

ReplicaView Router::view(ReplicaId replica, double now) const {
  PANDO_CHECK(replica < replicas_.size() && replicas_[replica].is_there);
  const Replica& known = replicas_[replica];
  return {.state = known.state,
          .n_open = known.load.n_open(),
          .seconds_left = known.load.seconds_left(now),
          .n_held = known.held.size(),
          .n_tickets = known.load.n_tickets()};
}

size_t Router::n_bytes() const {
  size_t n = index_.n_bytes() + tickets_.size() * kTicketBytes;
  for (const Replica& replica : replicas_) n += sizeof replica + replica.held.n_bytes();
  return n;
}

Router::Replica& Router::at(ReplicaId replica) {
  PANDO_CHECK(replica < replicas_.size() && replicas_[replica].is_there);
  return replicas_[replica];
}

void Router::limit(ReplicaId replica) {
  Replica& known = replicas_[replica];
  known.held.set_capacity(std::min(known.capacity, options_.most_pieces / n_replicas_), &changes_);
  apply_changes(replica);
}

void Router::share_capacity() {
  for (ReplicaId id = 0; id < replicas_.size(); ++id)
    if (replicas_[id].is_there) limit(id);
}

void Router::apply_changes(ReplicaId replica) {
  for (const auto& [piece, is_added] : changes_)
    is_added ? index_.add(piece, replica) : index_.remove(piece, replica);
  changes_.clear();
}

}  // namespace pando
