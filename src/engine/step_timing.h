// Scheduling by predicted time, for engines that are opened with a policy or a budget.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "pando/engine.h"
#include "schedule/deadlines.h"
#include "schedule/margin.h"
#include "schedule/packer.h"
#include "schedule/remaining.h"

namespace pando {

// One for each engine loop, on its thread.
class StepTiming {
 public:
  // Nothing where rows alone decide. options: filled in. Errors: kInvalidArgument, kBadFile.
  static Result<std::optional<StepTiming>> create(const EngineOptions& options);

  // A request that comes now, with n_done of the n_total tokens of its prompt cached.
  Job new_job(const Request& request, uint32_t n_total, uint32_t n_done) const;
  void update(Job& job, uint32_t n_total, uint32_t n_done) const;
  PackedStep pack(const WorkView& view, std::span<const Job> jobs) const;
  // Predicted seconds: of a step; of a prefill alone, from n_done tokens to n_total.
  double seconds(const StepFeatures& step) const { return predictor_.seconds(step); }
  double seconds(uint32_t n_total, uint32_t n_done) const;
  // Learns from a step that was run.
  void observe(const PackedStep& step, double measured);

 private:
  StepTiming(const Policy& policy, const PackerOptions& packer, const Predictor& predictor,
             const EngineOptions& options);
  double now() const;  // on the clock of jobs

  const Policy* policy_;
  PackerOptions packer_;
  Margin margin_;
  Predictor predictor_;
  RemainingTable remaining_;
  std::map<std::string, DeadlineClass> classes_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pando
