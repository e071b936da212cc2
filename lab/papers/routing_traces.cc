// Traffic of published traces over several replicas, simulated, under each policy of the router.
#include <fmt/format.h>

#include <set>

#include "base/statistics.h"
#include "lab/data/data_sets.h"
#include "lab/data/file_names.h"
#include "lab/data/routed_requests.h"
#include "lab/papers/papers.h"
#include "lab/simulate/replicas.h"

namespace pando::lab {
namespace {

// About those of a small model on a few cores: 0.2 ms a token of a prompt.
const Predictor kReplicaCosts(StepCosts{.step = 4e-3,
                                        .row = {8e-4, 4e-4, 2e-4, 2e-4, 2e-4},
                                        .head = 2e-3,
                                        .output = 1e-4,
                                        .key = 4e-8,
                                        .read = 4e-7});
constexpr const char* kRouting[] = {"round_robin", "least_loaded", "prefix", "lars"};

size_t n_distinct_pieces(const std::vector<RoutedRequest>& requests) {
  std::set<Piece> pieces;
  for (const RoutedRequest& request : requests)
    pieces.insert(request.pieces.begin(), request.pieces.end());
  return pieces.size();
}

ReplicasOptions replicas_of(const char* policy, size_t n_replicas, size_t n_pieces) {
  return {.n_replicas = n_replicas,
          .n_pieces = n_pieces / n_replicas,
          .router = {.policy = value_of(route_policy_named(policy))},
          .engine = {.packer = {.step_budget = 0.1}, .max_running = 64}};
}

// Seconds in which the replicas answer all if all are there at once.
double seconds_at_once(std::vector<RoutedRequest> requests, const ReplicasOptions& options) {
  for (RoutedRequest& request : requests) request.arrival = 0;
  return simulate_replicas(requests, kReplicaCosts, options).ends;
}

std::vector<std::string> cells_of(const ReplicasRun& run,
                                  const std::vector<RoutedRequest>& requests, double one_cache) {
  std::vector<double> of_short, of_long;
  for (size_t i = 0; i < requests.size(); ++i)
    (requests[i].is_short ? of_short : of_long).push_back(run.ttft[i]);
  return {number(100 * run.reuse),  number(run.reuse / one_cache),
          number(median(of_short)), number(quantile(of_short, 0.99)),
          number(median(of_long)),  number(quantile(of_long, 0.99))};
}

void run_routing_traces(Harness& harness) {
  const size_t n_each = harness.choose<size_t>(100, 1500, 9000);
  const std::vector<RoutedRequest> requests =
      routed_requests(read_data(harness.data(kMooncakeConversation)),
                      read_data(harness.data(kShareGptLengths)), n_each);
  const size_t n_pieces = n_distinct_pieces(requests) / 4;
  const double one_cache = reuse_of_one_cache(requests, n_pieces);
  for (const size_t n_replicas : {2, 4}) {
    const double at_once = seconds_at_once(requests, replicas_of("lars", n_replicas, n_pieces));
    for (const double load : harness.choose<std::vector<double>>({0.7}, {0.7}, {0.5, 0.7, 0.9})) {
      std::vector<RoutedRequest> timed = requests;
      for (RoutedRequest& request : timed) request.arrival *= at_once / load;
      Table table{
          .title = fmt::format("{} replicas, simulated, at a load of {}", n_replicas, load),
          .columns = {"policy", "reuse, %", "of one cache", "short, median s", "short, p99 s",
                      "long, median s", "long, p99 s"},
          .notes = {fmt::format(
              "{} conversations of Mooncake and as many short requests with lengths of ShareGPT, "
              "lengths divided by {}. Caches have room for a quarter of all distinct pieces in "
              "all; one cache of that size reuses {} %. Seconds are to the first token. The load "
              "is a part of the rate at which lars answers all requests at once.",
              n_each, kRoutedDivisor, number(100 * one_cache))}};
      for (const char* policy : kRouting) {
        std::vector<std::string> row = cells_of(
            simulate_replicas(timed, kReplicaCosts, replicas_of(policy, n_replicas, n_pieces)),
            timed, one_cache);
        row.insert(row.begin(), policy);
        table.add(std::move(row));
      }
      harness.show(table);
    }
  }
}

}  // namespace

std::vector<Benchmark> routing_traces_benchmarks() {
  return {{{"routing-traces",
            "traffic over 2 and 4 replicas, by policy of the router, simulated",
            {.files = {kMooncakeConversation, kShareGptLengths}, .threads = false}},
           run_routing_traces}};
}

}  // namespace pando::lab
