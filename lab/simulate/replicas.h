// Several replicas behind a router: what requests would see under each policy.
#pragma once

#include <span>
#include <vector>

#include "lab/simulate/simulated_replica.h"
#include "schedule/router.h"

namespace pando::lab {

struct ReplicasOptions {
  size_t n_replicas = 2;
  size_t n_pieces = 1024;     // room of the cache of each
  double report_every = 0.5;  // seconds
  RouterOptions router;
  SimulationOptions engine;
};

struct ReplicasRun {
  std::vector<double> ttft;         // [requests], seconds from arrival to the first token
  std::vector<ReplicaId> replicas;  // [requests], that answered
  double ends = 0;                  // when the last answer has ended
  double reuse = 0;                 // share of all tokens of prompts that were cached
};

// Requests in order of arrival. Replicas are alike. The same arguments give the same run.
ReplicasRun simulate_replicas(std::span<const RoutedRequest> requests, const Predictor& predictor,
                              const ReplicasOptions& options);

// Share of all tokens of prompts that one cache of so many pieces would have.
double reuse_of_one_cache(std::span<const RoutedRequest> requests, size_t n_pieces);

}  // namespace pando::lab
