#include "schedule/policy.h"

#include <algorithm>

#include "base/errors.h"

namespace pando {

double fcfs_priority(const Job& job, double) { return job.arrival; }
double edf_priority(const Job& job, double) { return job.deadline; }
double lrs_priority(const Job& job, double now) { return job.deadline - now - job.left; }
double lars_priority(const Job& job, double now) {
  const double slack = lrs_priority(job, now);
  return slack / (slack > 0 ? job.work : std::max(job.work, job.all_work));
}

const Policy kFcfs{"fcfs", fcfs_priority};
const Policy kEdf{"edf", edf_priority};
const Policy kLrs{"lrs", lrs_priority};
const Policy kLars{"lars", lars_priority, /*shares_steps=*/true};

Result<const Policy*> policy_named(std::string_view name) {
  for (const Policy* policy : {&kFcfs, &kEdf, &kLrs, &kLars})
    if (policy->name == name) return policy;
  return invalid_argument("policy is '{}', expected fcfs, edf, lrs or lars", name);
}

}  // namespace pando
