#include "lab/simulate/replicas.h"

#include <algorithm>

#include "base/check.h"

namespace pando::lab {
namespace {

class ReplicasSimulation {
 public:
  ReplicasSimulation(std::span<const RoutedRequest> requests, const Predictor& predictor,
                     const ReplicasOptions& options)
      : requests_(requests),
        options_(options),
        router_(options.router),
        versions_(options.n_replicas),
        tickets_(requests.size()) {
    uint32_t longest = 1;
    for (const RoutedRequest& request : requests) longest = std::max(longest, request.n_prompt);
    for (size_t i = 0; i < options.n_replicas; ++i) {
      replicas_.emplace_back(predictor, options.engine, options.n_pieces, longest);
      report(router_.join(), 0);
    }
    run_.ttft.resize(requests.size());
    run_.replicas.resize(requests.size());
  }

  ReplicasRun run() {
    double next_report = options_.report_every;
    for (size_t arrived = 0;;) {
      const auto replica = std::ranges::min_element(replicas_, {}, &SimulatedReplica::next);
      const double step_end = replica->next();
      const double arrival = arrived < requests_.size() ? requests_[arrived].arrival
                                                        : std::numeric_limits<double>::infinity();
      const double now = std::min(step_end, arrival);
      if (now == std::numeric_limits<double>::infinity()) break;
      if (next_report <= now) {
        for (ReplicaId id = 0; id < replicas_.size(); ++id) report(id, next_report);
        next_report += options_.report_every;
      } else if (step_end <= arrival) {
        end_step(*replica, now);
      } else {
        arrive(static_cast<uint32_t>(arrived++), now);
      }
    }
    double n_tokens = 0, n_shared = 0;
    for (const RoutedRequest& request : requests_) n_tokens += request.n_prompt;
    for (const SimulatedReplica& replica : replicas_) n_shared += replica.n_shared();
    run_.reuse = n_shared / n_tokens;
    return std::move(run_);
  }

 private:
  void report(ReplicaId id, double now) {
    const HeldDigest held = replicas_[id].held_since(versions_[id]);
    versions_[id] = held.version;
    router_.report(id, replicas_[id].report(now), held, now, now);
  }

  void arrive(uint32_t index, double now) {
    const RoutedRequest& request = requests_[index];
    const RoutedWork work{.pieces = request.pieces,
                          .n_prompt = static_cast<double>(request.n_prompt),
                          .n_answer = answer_tokens_ / std::max(1.0, n_ended_)};
    const ReplicaId replica = router_.choose(work, now)->replica;
    tickets_[index] = router_.sent(replica, work, now);
    run_.replicas[index] = replica;
    replicas_[replica].add(index, request, now);
  }

  void end_step(SimulatedReplica& replica, double now) {
    for (const SimulatedReplica::Event& event : replica.end_step()) {
      if (event.is_first) {
        run_.ttft[event.index] = now - requests_[event.index].arrival;
        router_.first_token(tickets_[event.index], now);
      }
      if (!event.is_last) continue;
      router_.ended(tickets_[event.index], now);
      answer_tokens_ += requests_[event.index].n_answer;
      ++n_ended_;
    }
    run_.ends = now;
  }

  std::span<const RoutedRequest> requests_;
  const ReplicasOptions& options_;
  Router router_;
  std::vector<SimulatedReplica> replicas_;
  std::vector<uint64_t> versions_;          // [replicas], of the latest digest
  std::vector<TicketId> tickets_;           // [requests]
  double answer_tokens_ = 0, n_ended_ = 0;  // answers that have ended, whose mean is expected
  ReplicasRun run_;
};

}  // namespace

ReplicasRun simulate_replicas(std::span<const RoutedRequest> requests, const Predictor& predictor,
                              const ReplicasOptions& options) {
  PANDO_CHECK(std::ranges::is_sorted(requests, {}, &RoutedRequest::arrival));
  return ReplicasSimulation(requests, predictor, options).run();
}

double reuse_of_one_cache(std::span<const RoutedRequest> requests, size_t n_pieces) {
  HeldPieces cache(n_pieces);
  double n_tokens = 0, n_shared = 0;
  for (const RoutedRequest& request : requests) {
    n_shared += std::min(kPieceTokens * static_cast<double>(cache.n_leading(request.pieces)),
                         request.n_prompt - 1.0);
    n_tokens += request.n_prompt;
    cache.touch(request.pieces, request.arrival);
  }
  return n_shared / n_tokens;
}

}  // namespace pando::lab
