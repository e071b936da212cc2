// Fields that every body of the HTTP API may have, whatever it asks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace pando::ask {

struct ServingFields {
  bool cached = true;    // its work may be shared with later requests
  bool sharing = false;  // the answer says what was shared
  // When tokens are due, as in Request; seconds.
  double ttft_slo = 0, tpot_slo = 0;
  std::string deadline_class;
  std::string public_prefix;  // name of one that the server has; empty: none
};

// "cache", "cache_prompt", "sharing", "priority", "ttft_slo_ms", "tpot_slo_ms", "deadline_class",
// "public_prefix". Whoever reads the body looks at "model"; "user" changes nothing.
ServingFields read_serving_fields(Fields& fields);
std::span<const std::string_view> serving_field_names();  // "model" and "user" too

// Everything in the body but these and `own` is a mistake.
void refuse_other_fields(Fields& fields, std::span<const std::string_view> own);

}  // namespace pando::ask
