// Order of prefills: one function for each policy. Medha, section 4.1. Pure; time is an argument.
#pragma once

#include <string_view>

#include "pando/values/result.h"

namespace pando {

// Facts that a policy knows of a request. Times in seconds, on one clock.
struct ScheduledRequest {
  double arrival = 0;   // when it was submitted
  double deadline = 0;  // of its first token
  double work = 1;      // predicted seconds of its prefill when it came, alone; above 0
  double left = 1;      // of these, still to do
  double all_work = 0;  // work of its whole group, itself included
  double tpot_slo = 0;  // seconds between its tokens, once it decodes
  // Counts instead of a shorter tpot_slo once decodes with prefill's least share take more than
  // that: a tpot_slo that cannot be kept must not stop prefill.
  double class_tpot_slo = 0;
};

// The lowest value goes first; among equals the earliest arrival.
double fcfs_priority(const ScheduledRequest& request, double now);  // arrival
double edf_priority(const ScheduledRequest& request, double now);   // deadline
double lrs_priority(const ScheduledRequest& request, double now);   // slack: deadline - now - left
// Relative slack: slack / work. A late request divides by the work of its whole group, so that a
// long late list is as urgent as one long prompt.
double lars_priority(const ScheduledRequest& request, double now);

struct Policy {
  std::string_view name;  // as in --policy
  double (*priority)(const ScheduledRequest& request, double now);
  // LARS alone: long prefills with slack leave a share of the step to others
  // (PackingOptions::rho_max), and one that waited for long gets a share of every step (aging). EDF
  // and LRS are as published, and under FCFS nothing overtakes.
  bool shares_steps = false;
};

extern const Policy kFcfs, kEdf, kLrs, kLars;

// kInvalidArgument for a name that is none of fcfs, edf, lrs, lars.
Result<const Policy*> policy_named(std::string_view name);

}  // namespace pando
