// How each policy chooses.
#include <algorithm>

#include "schedule/router.h"

namespace pando {

std::optional<RouteChoice> Router::choose(const RoutedWork& work, double now,
                                          std::span<const ReplicaId> excluded) {
  list_candidates(work, now, excluded);
  if (candidates_.empty()) return std::nullopt;
  const double tolerance = price_candidates(work, now);
  const double most = std::ranges::min(candidates_, {}, &RouteCandidate::cost).cost + tolerance;
  const RouteCandidate* best = nullptr;
  const auto turns_until = [&](const RouteCandidate& candidate) {
    return (candidate.replica + replicas_.size() - turn_) % replicas_.size();
  };
  for (const RouteCandidate& candidate : candidates_)
    if (candidate.cost <= most &&
        (best == nullptr || std::pair(candidate.then, turns_until(candidate)) <
                                std::pair(best->then, turns_until(*best))))
      best = &candidate;
  turn_ = static_cast<ReplicaId>((best->replica + 1) % replicas_.size());
  return RouteChoice{.replica = best->replica,
                     .n_held = best->n_held,
                     .begins = now + best->predicted.begins,
                     .ends = now + best->predicted.ends};
}

void Router::list_candidates(const RoutedWork& work, double now,
                             std::span<const ReplicaId> excluded) {
  n_leading_.resize(replicas_.size());
  index_.count_leading(work.pieces, n_leading_);
  is_excluded_.assign(replicas_.size(), 0);
  for (const ReplicaId id : excluded)
    if (id < is_excluded_.size()) is_excluded_[id] = 1;
  candidates_.clear();
  for (ReplicaId id = 0; id < replicas_.size(); ++id) {
    const Replica& replica = replicas_[id];
    if (replica.is_there && replica.state == ReplicaState::kUp && is_excluded_[id] == 0)
      candidates_.push_back(
          {.replica = id,
           .n_held = n_leading_[id],
           .predicted = replica.load.predict(work, n_leading_[id], options_.patience, now)});
  }
}

double Router::price_candidates(const RoutedWork& work, double now) {
  switch (options_.policy) {
    case RoutePolicy::kRoundRobin:
      return 0;
    case RoutePolicy::kLeastLoaded:
      for (RouteCandidate& candidate : candidates_)
        candidate.cost = replicas_[candidate.replica].load.n_open();
      return 0;
    case RoutePolicy::kPrefix:
      price_by_prefix();
      return 0;
    case RoutePolicy::kLars:
      return price_by_time(work, now);
  }
  return 0;
}

void Router::price_by_prefix() {
  double least = std::numeric_limits<double>::infinity();
  for (RouteCandidate& candidate : candidates_) {
    candidate.then = replicas_[candidate.replica].load.n_open();
    least = std::min(least, candidate.then);
  }
  for (RouteCandidate& candidate : candidates_) {
    const bool is_overloaded = candidate.then > kOverloadTimes * least + kOverloadMore;
    candidate.cost = is_overloaded ? 0 : -static_cast<double>(candidate.n_held);
  }
}

double Router::price_by_time(const RoutedWork& work, double now) {
  double least = std::numeric_limits<double>::infinity(), longest_unused = 0;
  for (const RouteCandidate& candidate : candidates_) {
    least = std::min(least, candidate.predicted.prefill);
    longest_unused = std::max(longest_unused, seconds_unused(candidate, work, now));
  }
  for (RouteCandidate& candidate : candidates_) {
    const auto& [prefill, begins, ends] = candidate.predicted;
    candidate.cost = ends + (options_.again - 1) * (prefill - least) +
                     options_.late * std::max(0.0, now + begins - work.deadline);
    const double unused = seconds_unused(candidate, work, now);
    if (unused < longest_unused)
      candidate.cost += options_.room * prefill * (1 - unused / longest_unused);
  }
  return options_.tie * least;
}

// Age of the piece that this prompt would displace first; infinite if there is room.
double Router::seconds_unused(const RouteCandidate& candidate, const RoutedWork& work,
                              double now) const {
  const HeldPieces& held = replicas_[candidate.replica].held;
  const size_t n_new = work.pieces.size() - candidate.n_held;
  if (held.size() + n_new <= held.capacity() || held.size() == 0)
    return std::numeric_limits<double>::infinity();
  return now - held.oldest();
}

}  // namespace pando
