// A machine that takes as long for a step as a model of it says: what a workload would see under a
// policy, without running one. The scheduler is that of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schedule/deadlines.h"
#include "schedule/packer.h"
#include "schedule/predictor.h"

namespace pando::lab {

struct SimulatedRequest {
  double arrival = 0;     // seconds
  uint32_t n_prompt = 1;  // tokens
  uint32_t n_answer = 1;  // tokens, at least 1
  uint32_t prefix_id =
      0;  // above 0: requests with the same one share their first prefix_len tokens
  uint32_t prefix_len = 0;  // at most n_prompt, equal for equal prefix_id
  Deadlines deadlines;
};

struct SimulatedAnswer {
  double first_token = 0;  // when; so the others
  double finished = 0;
  double worst_gap = 0;        // longest time between two of its tokens
  std::vector<double> tokens;  // when each came
  ScheduledRequest scheduled;  // as it came
  bool in_time() const { return first_token <= scheduled.deadline; }
};

// A step that was run. Items are requests by index.
struct SimulatedStep {
  double begin, seconds;
  std::vector<Advance> advances;
};

struct SimulationOptions {
  const Policy* policy = &kLars;
  PackerOptions packer;
  DeadlineClass otherwise;     // of requests that say nothing
  uint32_t max_running = 256;  // requests that have begun, at most
  std::function<void(const SimulatedStep&)> on_step;
};

// Runs all requests to their end. Everything cached stays. `belief` is what the scheduler predicts
// with, corrected as it goes, and `machine` how long steps take. The same arguments give the same
// answers, one for each request.
std::vector<SimulatedAnswer> simulate(std::span<const SimulatedRequest> requests, Predictor belief,
                                      const Predictor& machine, const SimulationOptions& options);

// A baseline: the machine in two parts that share nothing, one with `share` of its speed for
// prompts of fewer than n_short tokens alone, the other for the rest (Medha, section 6.5).
std::vector<SimulatedAnswer> simulate_pools(std::span<const SimulatedRequest> requests,
                                            const Predictor& belief, const Predictor& machine,
                                            const SimulationOptions& options, double share,
                                            uint32_t n_short);

}  // namespace pando::lab
