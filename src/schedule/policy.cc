#include "schedule/policy.h"

#include <algorithm>

#include "base/errors.h"

namespace pando {

double fcfs_priority(const ScheduledRequest& request, double) { return request.arrival; }
double edf_priority(const ScheduledRequest& request, double) { return request.deadline; }
double lrs_priority(const ScheduledRequest& request, double now) {
  return request.deadline - now - request.left;
}
double lars_priority(const ScheduledRequest& request, double now) {
  const double slack = lrs_priority(request, now);
  return slack / (slack > 0 ? request.work : std::max(request.work, request.all_work));
}

const Policy kFcfs{"fcfs", fcfs_priority};
const Policy kEdf{"edf", edf_priority};
const Policy kLrs{"lrs", lrs_priority};
const Policy kLars{"lars", lars_priority, /*shares_steps=*/true};

Result<const Policy*> policy_named(std::string_view name) {
  for (const Policy* policy : {&kFcfs, &kEdf, &kLrs, &kLars})
    if (policy->name == name) return policy;
  return invalid_option("policy", "is '{}', expected fcfs, edf, lrs or lars", name);
}

}  // namespace pando
