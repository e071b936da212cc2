#include "schedule/deadlines.h"

#include <algorithm>

#include "base/check.h"

namespace pando {

Job new_job(double arrival, double work, const Deadlines& asked, const DeadlineClass& otherwise) {
  PANDO_CHECK(work > 0);
  const double by_work = otherwise.ttft_per_work * (work + asked.work_beside);
  const double ttft_slo =
      asked.ttft_slo > 0 ? asked.ttft_slo : std::max(otherwise.ttft_slo, by_work);
  return {.arrival = arrival,
          .deadline = arrival + ttft_slo,
          .work = work,
          .left = work,
          .tpot_slo = asked.tpot_slo > 0 ? asked.tpot_slo : otherwise.tpot_slo,
          .class_tpot_slo = otherwise.tpot_slo};
}

}  // namespace pando
