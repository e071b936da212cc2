// When a request's tokens are due.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "pando/result.h"

namespace pando::serve {

// As in Request.
struct DueTimes {
  double ttft_slo = 0, tpot_slo = 0;
  std::string deadline_class;
};

// What a body says in "ttft_slo_ms", "tpot_slo_ms" and "deadline_class"; the fields are taken out
// of it. Errors: kInvalidArgument.
Result<DueTimes> take_due_times(nlohmann::json& body);

}  // namespace pando::serve
