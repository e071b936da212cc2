// Bodies and scripts for tests of routers.
#pragma once

#include <string>

#include "serve/client.h"
#include "serve/scripted_replica.h"

namespace pando::testing {

inline const Json kBody = {{"model", "tiny"}, {"prompt", "P"}, {"max_tokens", 9}};

inline ScriptedReplica::Script answers(int status, const std::string& body,
                                       const std::string& headers = "") {
  return [=](ScriptedAnswer& answer) { answer.send(status, body, headers); };
}

}  // namespace pando::testing
