// Chooses the rows of a step by predicted time. Medha, sections 3.2, 4.2 and 4.3, algorithms 1 and
// 2. Pure: time, requests and predictor are arguments.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "pando/values/scheduling.h"
#include "schedule/policy.h"
#include "schedule/predictor.h"
#include "schedule/schedule.h"

namespace pando {

struct PackerOptions {
  static constexpr double kNoBudget = std::numeric_limits<double>::infinity();

  // Seconds of a step. With decodes, the least tpot_slo among them that counts (policy.h) is a
  // bound, too. kNoBudget: time does not limit a step and no prefill is long, so that chunks have
  // the fixed size that n_rows leaves beside the decodes.
  double step_budget = 0.1;
  uint32_t n_rows = 512;  // of a step at most, whatever the time
  PackingOptions packing;
  bool many_prefills = true;  // several prefills in one step; false: one at a time
};

struct PackedStep {
  std::vector<Advance> advances;
  StepFeatures features;
  double limit = PackerOptions::kNoBudget;  // seconds that it may take, margin included
};

// Inputs that a step is chosen from.
struct PackerInput {
  const WorkView& view;                        // the work of sequences
  std::span<const ScheduledRequest> requests;  // [view.items]
  double now;                                  // seconds, on the clock of the requests
  const Predictor& predictor;                  // how long a step takes
  const Policy& policy;                        // whose prefill goes first
  const PackerOptions& options;
  double margin = 1;  // divides the budget if decodes wait for the step (margin.h)
};

// Packs all decodes, then prefills in the policy's order, each with the largest chunk that fits,
// until no more fits. At most one prefill is long; if it has slack, it leaves a share of the budget
// to others, and takes the rest in the end.
PackedStep pack_step(const PackerInput& input);

bool is_long(const ScheduledRequest& request, const PackerOptions& options);

}  // namespace pando
