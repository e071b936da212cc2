// When a request's tokens are due.
#pragma once

#include "schedule/policy.h"

namespace pando {

// Of a request; 0: as its class has it. Seconds.
struct Deadlines {
  double ttft_slo = 0;  // from its arrival to its first token
  double tpot_slo = 0;  // from one token to the next
};

// What requests that say nothing are promised. Seconds.
struct DeadlineClass {
  double ttft_slo = 1;       // at least
  double ttft_per_work = 4;  // times the predicted seconds of the prefill, where that is more
  double tpot_slo = 0.2;
};

// A request that comes now and whose prefill is predicted to take `work` seconds, above 0.
Job new_job(double now, double work, const Deadlines& asked, const DeadlineClass& otherwise);

}  // namespace pando
