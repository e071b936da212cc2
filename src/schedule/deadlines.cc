#include "schedule/deadlines.h"

#include <algorithm>

#include "base/check.h"

namespace pando {

ScheduledRequest scheduled_request(double now, double work, const Deadlines& asked,
                                   const DeadlineClass& otherwise) {
  PANDO_CHECK(work > 0);
  const double all_work = work + asked.work_beside;
  const bool by_work = asked.ttft_slo == 0 && otherwise.ttft_per_work > 0;
  double ttft_slo = asked.ttft_slo > 0 ? asked.ttft_slo : otherwise.ttft_slo;
  // Earlier than the deadline of the group's last request by the work behind this one, or by a
  // smaller factor of it.
  if (by_work)
    ttft_slo = std::max(ttft_slo, otherwise.ttft_per_work * all_work) -
               std::min(1.0, otherwise.ttft_per_work) * asked.work_behind;
  return {.arrival = now,
          .deadline = now - asked.waited + ttft_slo,
          .work = work,
          .left = work,
          .all_work = all_work,
          .tpot_slo = asked.tpot_slo > 0 ? asked.tpot_slo : otherwise.tpot_slo,
          .class_tpot_slo = otherwise.tpot_slo};
}

}  // namespace pando
