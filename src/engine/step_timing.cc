#include "engine/step_timing.h"

#include <algorithm>

#include "base/errors.h"

namespace pando {
namespace {

using Clock = std::chrono::steady_clock;

// Limits a caller's value to a day.
double seconds_waited(Clock::time_point sent) {
  const auto seconds = [](Clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  return std::clamp(seconds(Clock::now()) - seconds(sent), 0.0, 86'400.0);
}

}  // namespace

Result<std::unique_ptr<StepTiming>> StepTiming::create(const EngineOptions& options,
                                                       bool many_prefills, const RankShape& ranks) {
  const Result<const Policy*> policy = policy_named(options.policy);
  if (!policy) return policy.error();
  const PackingOptions& packing = options.packing;
  const bool by_rows = *policy == &kFcfs && options.step_budget == 0;
  if (by_rows && !packing.whole_prompts && many_prefills) return std::unique_ptr<StepTiming>();
  if (options.step_costs.empty())
    return invalid_option(
        "policy", "'{}' with a step_budget of {} s needs predicted times, expected step_costs",
        options.policy, options.step_budget);
  const Result<Predictor> predictor = Predictor::from_json(options.step_costs, "step_costs", ranks);
  if (!predictor) return predictor.error();
  if (!(predictor->seconds({.rows = 1}) > 0))
    return invalid_argument("step_costs predict no time for a row, expected more than 0 seconds");
  PackerOptions packer{.step_budget = options.step_budget,
                       .n_rows = static_cast<uint32_t>(options.step_rows),
                       .packing = packing,
                       .many_prefills = many_prefills};
  if (options.step_budget == 0) {
    packer.step_budget = PackerOptions::kNoBudget;
    if (!by_rows)
      for (const auto& [name, deadlines] : options.deadline_classes)
        packer.step_budget = std::min(packer.step_budget, deadlines.tpot_slo);
  }
  return std::unique_ptr<StepTiming>(new StepTiming(**policy, packer, *predictor, options));
}

StepTiming::StepTiming(const Policy& policy, const PackerOptions& packer,
                       const Predictor& predictor, const EngineOptions& options)
    : policy_(&policy),
      packer_(packer),
      predictor_(predictor),
      remaining_(predictor, packer.step_budget, static_cast<uint32_t>(options.context),
                 packer.n_rows),
      classes_(options.deadline_classes) {}

double StepTiming::now() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double StepTiming::seconds(uint32_t n_total, uint32_t n_done) const {
  return predictor_.corrected(remaining_.time(n_total, n_done));
}

ScheduledRequest StepTiming::scheduled_request(const Request& request, uint32_t n_total,
                                               uint32_t n_done) const {
  // Work of other prompts, each as long as this one; parts of the positions have equal shares of
  // them.
  const auto work = [&](size_t n_tokens) {
    const double rows = static_cast<double>(n_tokens);
    const StepFeatures step{.rows = rows, .keys = rows * n_total / ranks().n_parts};
    return rows > 0 ? predictor_.corrected(predictor_.interval(step)) : 0;
  };
  return pando::scheduled_request(now(), seconds(n_total, n_done),
                                  {.ttft_slo = request.ttft_slo,
                                   .tpot_slo = request.tpot_slo,
                                   .work_beside = work(request.tokens_beside),
                                   .work_behind = work(request.tokens_behind),
                                   .waited = request.sent ? seconds_waited(*request.sent) : 0},
                                  classes_.at(request.deadline_class));
}

void StepTiming::update(ScheduledRequest& scheduled, uint32_t n_total, uint32_t n_done) const {
  scheduled.left = seconds(n_total, n_done);
}

std::vector<Advance> StepTiming::choose(const WorkView& view,
                                        std::span<const ScheduledRequest> requests) {
  packed_ = pack_step({view, requests, now(), predictor_, *policy_, packer_, margin_.factor()});
  return packed_.advances;
}

void StepTiming::observe(const Chosen& step, double measured) {
  margin_.observe(predicted_seconds(step), measured, step.limit);
  predictor_.observe(step.features, measured);
}

}  // namespace pando
