// Serves the windows of the serving experiments on the simulator instead of an engine.
#include "lab/experiment.h"
#include "lab/papers/serve_contenders.h"
#include "lab/simulate/simulated_executor.h"

namespace pando::lab {
namespace {

constexpr double kShortPool = 0.25;  // two of eight instances, as in the paper

SimulationOptions options_of(const Contender& who) {
  const EngineOptions& engine = who.engine;
  return {.policy = value_of(policy_named(engine.policy)),
          .packer = {.step_budget =
                         engine.step_budget > 0 ? engine.step_budget : PackerOptions::kNoBudget,
                     .n_rows = static_cast<uint32_t>(engine.step_rows),
                     .packing = engine.packing,
                     .many_prefills = who.many_prefills},
          .max_running = static_cast<uint32_t>(engine.max_running)};
}

std::vector<SimulatedRequest> simulated(const std::vector<ServedRequest>& requests) {
  std::vector<SimulatedRequest> all;
  for (const ServedRequest& request : requests)
    all.push_back({.arrival = request.arrival,
                   .n_prompt = request.n_prompt,
                   .n_answer = request.n_answer,
                   .deadlines = request.deadlines});
  return all;
}

// Counts what is seen by the end.
ServedWindow window_of(std::vector<ServedRequest> requests,
                       const std::vector<SimulatedAnswer>& answers, Span span) {
  ServedWindow window{span, std::move(requests), {}};
  for (const SimulatedAnswer& answer : answers) {
    Outcome& outcome = window.outcomes.emplace_back();
    for (const double token : answer.tokens)
      if (token <= span.end) outcome.tokens.push_back(token);
  }
  return window;
}

}  // namespace

ServedWindow serve_simulated(const ServedModel& served, const Contender& who,
                             std::vector<ServedRequest> requests, Span span) {
  const std::vector<SimulatedAnswer> answers =
      simulate(simulated(requests), served.predictor, served.predictor, options_of(who));
  return window_of(std::move(requests), answers, span);
}

ServedWindow serve_in_pools(const ServedModel& served, const Contender& who,
                            std::vector<ServedRequest> requests, Span span) {
  uint32_t n_short = 0;
  for (const ServedRequest& request : requests)
    if (!request.is_long) n_short = std::max(n_short, request.n_prompt + 1);
  const std::vector<SimulatedAnswer> answers =
      simulate_pools(simulated(requests), served.predictor, served.predictor, options_of(who),
                     kShortPool, n_short);
  return window_of(std::move(requests), answers, span);
}

}  // namespace pando::lab
