// Scheduling by predicted time, for engines that are opened with a policy or a budget.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "pando/values/engine_options.h"
#include "schedule/batcher.h"
#include "schedule/deadlines.h"
#include "schedule/margin.h"
#include "schedule/packer.h"
#include "schedule/remaining.h"

namespace pando {

// The packer as a batcher, and what else is predicted. One for each engine loop, on its thread.
class StepTiming final : public Batcher {
 public:
  // Null where rows alone decide. options: filled in. many_prefills: PackerOptions. Errors:
  // kInvalidArgument, kBadFile.
  static Result<std::unique_ptr<StepTiming>> create(const EngineOptions& options,
                                                    bool many_prefills = true,
                                                    const RankShape& ranks = {});
  const RankShape& ranks() const { return predictor_.ranks(); }

  // A request that comes now, with n_done of the n_total tokens of its prompt cached.
  ScheduledRequest scheduled_request(const Request& request, uint32_t n_total,
                                     uint32_t n_done) const;
  void update(ScheduledRequest& scheduled, uint32_t n_total, uint32_t n_done) const;
  // Seconds until the rest of a prompt has to begin to meet its deadline; below 0: it is late.
  double slack(const ScheduledRequest& scheduled) const {
    return lrs_priority(scheduled, now());
  }
  // All that wait, since any may go first; whether one may start is for the packer.
  Sight sight(const Queue&) override { return {.any_order = true, .times = true}; }
  std::vector<Advance> choose(const WorkView& view,
                              std::span<const ScheduledRequest> requests) override;
  // Predicted seconds of a prefill alone, from n_done tokens to n_total.
  double seconds(uint32_t n_total, uint32_t n_done) const;

  // Prediction for a step.
  struct Chosen {
    StepFeatures features;
    double limit;  // seconds that it may take
  };
  // Prediction for the step that was chosen last.
  Chosen chosen() const { return {packed_.features, packed_.limit}; }
  double predicted_seconds(const Chosen& step) const { return predictor_.seconds(step.features); }
  // Learns from the measured seconds of a step that was carried out as chosen.
  void observe(const Chosen& step, double measured);

 private:
  StepTiming(const Policy& policy, const PackerOptions& packer, const Predictor& predictor,
             const EngineOptions& options);
  double now() const;  // on the clock of requests

  const Policy* policy_;
  PackerOptions packer_;
  Margin margin_;
  Predictor predictor_;
  RemainingTable remaining_;
  std::map<std::string, DeadlineClass> classes_;
  PackedStep packed_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pando
