// Answers of /v1/responses that are kept for later requests.
#pragma once

#include <cstdint>
#include <string>

#include "pando/values/result.h"

namespace pando::ask {

struct StoredResponse {
  std::string id;
  std::string previous;  // id of the response that it continues; empty: none
  // Texts of JSON: the items that were asked, without those of earlier responses, and the answer.
  std::string input, response;
};

// Any thread may use it.
class ResponseStore {
 public:
  virtual ~ResponseStore() = default;
  // A response that was added with the same isolation key. Errors: kNotFound; kIo where the
  // responses cannot be read.
  virtual Result<StoredResponse> find(uint64_t isolation_key, const std::string& id) = 0;
  // Once it returns, the response is kept. Errors: kIo; kTooLong where it is larger than what is
  // kept.
  virtual Status add(uint64_t isolation_key, const StoredResponse& response) = 0;
};

}  // namespace pando::ask
