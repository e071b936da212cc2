// When a request's tokens are due.
#pragma once

#include "pando/values/scheduling.h"
#include "schedule/policy.h"

namespace pando {

// Deadlines of one request, in seconds. 0: the value of its class.
struct Deadlines {
  double ttft_slo = 0;     // from when it was sent to its first token
  double tpot_slo = 0;     // from one token to the next
  double work_beside = 0;  // seconds of prefill of the other requests of its group
  double work_behind = 0;  // of these, seconds of requests that were asked after it
  double waited = 0;       // since it was sent, before it came
};

// A request that comes now and whose prefill is predicted to take `work` seconds, above 0.
ScheduledRequest scheduled_request(double now, double work, const Deadlines& asked,
                                   const DeadlineClass& otherwise);

}  // namespace pando
