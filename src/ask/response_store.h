// Store of answers of /v1/responses, for later requests.
#pragma once

#include <cstdint>
#include <string>

#include "pando/values/result.h"

namespace pando::ask {

struct StoredResponse {
  std::string id;
  std::string previous;  // id of the response that it continues; empty: none
  // JSON texts: the items of the request, without those of earlier responses, and the answer.
  std::string input, response;
};

// Any thread may use it.
class ResponseStore {
 public:
  virtual ~ResponseStore() = default;
  // A response that was added with the same isolation key. Errors: kNotFound; kIo if the
  // responses cannot be read.
  virtual Result<StoredResponse> find(uint64_t isolation_key, const std::string& id) = 0;
  // The response is kept once this returns. Errors: kIo; kTooLong if it is larger than the limit.
  virtual Status add(uint64_t isolation_key, const StoredResponse& response) = 0;
};

}  // namespace pando::ask
