// A replica's report about itself (POST /v1/replica).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "schedule/held_pieces.h"
#include "schedule/replica_load.h"

namespace pando::serve {

struct ReplicaStatus {
  std::string process;      // another after each start
  std::string fingerprint;  // equal: the same answers, bit for bit
  std::vector<std::string> models;
  bool takes_any_model = false;       // also under other names
  uint64_t context = 0, longest = 0;  // tokens
  bool is_draining = false;
  ReplicaReport report;
  HeldDigest held;
};

// Errors: kBadFile.
Result<ReplicaStatus> parse_replica_status(std::string_view json);

}  // namespace pando::serve
