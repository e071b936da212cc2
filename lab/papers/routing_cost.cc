// Processor time to choose a replica, and memory of the router.
#include <fmt/format.h>

#include <iterator>
#include <string>

#include "base/mix.h"
#include "lab/papers/papers.h"
#include "schedule/router.h"

namespace pando::lab {
namespace {

constexpr size_t kPromptBytes = 16000;  // about 4,000 tokens
constexpr size_t kSharedBytes = 4096;   // of each prompt, with others of its kind
constexpr uint64_t kBeginnings = 32;
constexpr size_t kManyRequests = 100'000;
constexpr size_t kOpen = 8;  // requests of each replica

// Beginnings of kinds of prompts, behind which each prompt is its own.
class RoutedPrompts {
 public:
  // same: all prompts have one beginning.
  explicit RoutedPrompts(bool same) : same_(same) {}

  const std::vector<Piece>& next() {
    ++n_;
    const uint64_t kind = same_ ? 0 : mix64(n_) % kBeginnings;
    pieces_.clear();
    for (size_t i = 0; i < kPromptBytes / kPieceBytes; ++i)
      pieces_.push_back(mix64((i < kSharedBytes / kPieceBytes ? kind : kBeginnings + n_) << 8 | i));
    return pieces_;
  }

 private:
  bool same_;
  uint64_t n_ = 0;
  std::vector<Piece> pieces_;
};

// Requests that come and go at replicas, the oldest first.
class RoutedTraffic {
 public:
  RoutedTraffic(RoutePolicy policy, size_t n_replicas, bool same)
      : router_({.policy = policy}), prompts_(same), open_(kOpen * n_replicas) {
    for (size_t i = 0; i < n_replicas; ++i)
      router_.report(
          router_.join(),
          {.max_running = 64, .seconds_per_prompt_token = 1e-4, .seconds_per_step = 1e-2}, {}, 0,
          0);
  }

  void send_one() {
    now_ += 1e-3;
    const RoutedWork work{.pieces = prompts_.next(),
                          .n_prompt = double{kPromptBytes} / kBytesPerToken,
                          .n_answer = 200};
    TicketId& oldest = open_[n_sent_++ % open_.size()];
    router_.ended(oldest, now_);
    oldest = router_.sent(router_.choose(work, now_)->replica, work, now_);
    router_.first_token(oldest, now_);
  }
  const Router& router() const { return router_; }

 private:
  Router router_;
  RoutedPrompts prompts_;
  std::vector<TicketId> open_;
  size_t n_sent_ = 0;
  double now_ = 0;
};

void run_routing_cost(Harness& harness) {
  const double seconds = harness.choose(0.01, 0.3, 1.0);
  const size_t n_requests = harness.choose<size_t>(1000, kManyRequests, kManyRequests);
  Table table{
      .title = "What choosing a replica costs, for each request",
      .columns = {"policy", "replicas", "beginnings", "microseconds of a processor", "pieces held",
                  "MB", "bytes a piece"},
      .notes = {
          fmt::format("One thread. Prompts of {} bytes in pieces of {}; {} bytes are those of "
                      "one of the beginnings. choose, sent, first_token and ended of a "
                      "request, {} open at each replica, after {} requests. Memory is that "
                      "of the router's tables.",
                      kPromptBytes, kPieceBytes, kSharedBytes, kOpen, n_requests),
          fmt::format("Hashing a prompt takes {} microseconds more.",
                      number(1e6 * time_calls(seconds, [text = std::string(kPromptBytes, 'a')] {
                                     pieces_of(text);
                                   }).processor))}};
  for (const char* policy : {"round_robin", "least_loaded", "prefix", "lars"})
    for (const size_t n_replicas :
         harness.choose<std::vector<size_t>>({10}, {10, 1000}, {10, 1000}))
      for (const bool same : {false, true}) {
        RoutedTraffic traffic(value_of(route_policy_named(policy)), n_replicas, same);
        for (size_t i = 0; i < n_requests; ++i) traffic.send_one();
        const double cost = time_calls(seconds, [&] { traffic.send_one(); }).processor;
        size_t n_held = 0;
        for (ReplicaId id = 0; id < n_replicas; ++id) n_held += traffic.router().view(id, 0).n_held;
        const auto n_bytes = static_cast<double>(traffic.router().n_bytes());
        table.add({policy, std::to_string(n_replicas), std::to_string(same ? 1 : kBeginnings),
                   number(1e6 * cost), std::to_string(n_held), number(1e-6 * n_bytes),
                   number(n_bytes / static_cast<double>(n_held))});
      }
  harness.show(table);
}

}  // namespace

std::vector<Benchmark> routing_cost_benchmarks() {
  return {{{"routing-cost", "choosing a replica among many, and its memory", {.threads = false}},
           run_routing_cost}};
}

}  // namespace pando::lab
