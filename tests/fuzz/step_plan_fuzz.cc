// Bytes of a step plan.
#include "contract/step_plan_bytes.h"
#include "fuzz/fuzz.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const Result<StepPlan> plan = step_plan_from_bytes(bytes);
  if (!plan) return fuzz::check_error(plan.error()), 0;
  const std::vector<std::byte> written = to_bytes(*plan);
  const Result<StepPlan> read = step_plan_from_bytes(written);
  fuzz::demand(read.ok(), "a plan that was read cannot be written and read");
  fuzz::demand(*read == *plan, "a plan comes back as another");
  return 0;
}
