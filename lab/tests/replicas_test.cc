#include "lab/simulate/replicas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/mix.h"
#include "base/statistics.h"

namespace pando::lab {
namespace {

const Predictor kReplicaMachine(StepCosts{
    .step = 2e-3, .row = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3}, .output = 5e-4, .read = 1e-7});
const SimulationOptions kReplicaEngine{.packer = {.step_budget = 0.05, .n_rows = 64},
                                       .max_running = 8};

// A prompt behind a beginning that others have.
RoutedRequest routed_request(double arrival, uint64_t beginning, size_t n_pieces,
                             uint64_t own_pieces, uint32_t n_answer) {
  RoutedRequest request{.arrival = arrival,
                        .n_prompt = static_cast<uint32_t>(64 * (n_pieces + own_pieces) + 10),
                        .n_answer = n_answer};
  for (size_t i = 0; i < n_pieces; ++i) request.pieces.push_back(mix64(beginning << 16 | i));
  const uint64_t own = mix64(static_cast<uint64_t>(1e6 * arrival) + 1);
  for (size_t i = 0; i < own_pieces; ++i) request.pieces.push_back(mix64(own + i));
  return request;
}

// Six conversations at a time, each turn behind all earlier ones.
std::vector<RoutedRequest> conversations(size_t n) {
  std::mt19937 rng(4);
  std::vector<RoutedRequest> requests;
  std::vector<size_t> n_turns(6), kinds = {0, 1, 2, 3, 4, 5};
  for (size_t i = 0; i < n; ++i) {
    const size_t which = rng() % 6;
    if (++n_turns[which] == 12) {
      n_turns[which] = 1;
      kinds[which] += 6;
    }
    requests.push_back(
        routed_request(0.35 * static_cast<double>(i), kinds[which], 2 * n_turns[which], 0, 5));
  }
  return requests;
}

// One replica without shared beginnings is the engine of the other simulation.
TEST(Replicas, OneIsTheSimulatedExecutor) {
  std::mt19937 rng(2);
  std::vector<RoutedRequest> requests;
  std::vector<SimulatedRequest> plain;
  for (int i = 0; i < 60; ++i) {
    const uint32_t n_prompt = 1 + rng() % (rng() % 8 == 0 ? 2000 : 60), n_answer = 1 + rng() % 20;
    requests.push_back({.arrival = 0.1 * i, .n_prompt = n_prompt, .n_answer = n_answer});
    plain.push_back({.arrival = 0.1 * i, .n_prompt = n_prompt, .n_answer = n_answer});
  }
  const ReplicasRun run =
      simulate_replicas(requests, kReplicaMachine, {.n_replicas = 1, .engine = kReplicaEngine});
  const auto answers = simulate(plain, kReplicaMachine, kReplicaMachine, kReplicaEngine);
  double ends = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(run.ttft[i], answers[i].first_token - plain[i].arrival, 1e-9) << i;
    ends = std::max(ends, answers[i].finished);
  }
  EXPECT_NEAR(run.ends, ends, 1e-9);
  EXPECT_EQ(run.reuse, 0);
}

TEST(Replicas, APromptFindsWhatItsReplicaHolds) {
  const std::vector<RoutedRequest> requests = {routed_request(0, 1, 4, 0, 1),
                                               routed_request(10, 1, 4, 0, 1),
                                               routed_request(20, 2, 4, 0, 1)};
  const ReplicasRun run =
      simulate_replicas(requests, kReplicaMachine, {.n_replicas = 2, .engine = kReplicaEngine});
  EXPECT_EQ(run.replicas[0], run.replicas[1]);
  EXPECT_NE(run.replicas[2], run.replicas[0]);
  EXPECT_NEAR(run.ttft[1], 12.5e-3 + 256e-7, 1e-9);  // a step, ten rows, an output, what it reads
  EXPECT_DOUBLE_EQ(run.reuse, 256 / (3 * 266.0));
  EXPECT_DOUBLE_EQ(reuse_of_one_cache(requests, 8), run.reuse);
  EXPECT_DOUBLE_EQ(reuse_of_one_cache(requests, 3), 192 / (3 * 266.0));
}

TEST(Replicas, PoliciesThatKnowPrefixesReuseLikeOneCache) {
  const std::vector<RoutedRequest> requests = conversations(600);
  for (const size_t n_replicas : {2, 4}) {
    const double one_cache = reuse_of_one_cache(requests, 320);
    const auto run = [&](RoutePolicy policy) {
      return simulate_replicas(requests, kReplicaMachine,
                               {.n_replicas = n_replicas,
                                .n_pieces = 320 / n_replicas,
                                .router = {.policy = policy},
                                .engine = kReplicaEngine});
    };
    const ReplicasRun lars = run(RoutePolicy::kLars), in_turn = run(RoutePolicy::kRoundRobin);
    EXPECT_GE(lars.reuse, 0.9 * one_cache) << n_replicas;
    EXPECT_LT(in_turn.reuse, 0.9 * one_cache) << n_replicas;
    EXPECT_GE(run(RoutePolicy::kPrefix).reuse, 0.9 * one_cache) << n_replicas;
    EXPECT_LT(median(lars.ttft), median(in_turn.ttft)) << n_replicas;
    EXPECT_EQ(lars.ttft, run(RoutePolicy::kLars).ttft) << "the same again";
  }
}

TEST(Replicas, AllRequestsEndUnderEveryPolicy) {
  std::vector<RoutedRequest> requests = conversations(120);
  for (RoutedRequest& request : requests) request.arrival = std::floor(request.arrival / 9);
  for (const RoutePolicy policy : {RoutePolicy::kRoundRobin, RoutePolicy::kLeastLoaded,
                                   RoutePolicy::kPrefix, RoutePolicy::kLars}) {
    const ReplicasRun run = simulate_replicas(
        requests, kReplicaMachine,
        {.n_replicas = 3, .n_pieces = 50, .router = {.policy = policy}, .engine = kReplicaEngine});
    EXPECT_GT(*std::ranges::min_element(run.ttft), 0);
    for (ReplicaId id = 0; id < 3; ++id) EXPECT_GT(std::ranges::count(run.replicas, id), 0);
  }
}

}  // namespace
}  // namespace pando::lab
