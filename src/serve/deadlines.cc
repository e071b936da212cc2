#include "serve/deadlines.h"

#include "base/errors.h"
#include "base/fields.h"

namespace pando::serve {
namespace {

constexpr double kLongestMs = 86'400'000;  // a day

// Milliseconds of the body, as seconds.
void read_slo(Fields& fields, const char* name, double& seconds) {
  double ms = 1;
  fields.number(name, ms);
  if (!(ms > 0 && ms <= kLongestMs))
    return fields.fail(
        invalid_field(name, "is {}, expected more than 0 and at most {}", ms, kLongestMs));
  if (fields.has(name)) seconds = 1e-3 * ms;
}

}  // namespace

Result<DueTimes> take_due_times(nlohmann::json& body) {
  Fields fields(body);
  DueTimes due;
  fields.text("deadline_class", due.deadline_class);
  read_slo(fields, "ttft_slo_ms", due.ttft_slo);
  read_slo(fields, "tpot_slo_ms", due.tpot_slo);
  if (!fields.status()) return fields.status().error();
  for (const char* field : {"deadline_class", "ttft_slo_ms", "tpot_slo_ms"}) body.erase(field);
  return due;
}

}  // namespace pando::serve
