// SQLite database of stored answers of /v1/responses: in memory, or in a file that outlives the
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ask/response_store.h"
#include "pando/values/result.h"
#include "serve/owners.h"

struct sqlite3;

namespace pando::serve {

struct ResponseLimits {
  size_t n_responses = 1000;          // limit for one API key
  size_t n_bytes = size_t{64} << 20;  // limit of their texts
};

// If an API key exceeds the limits, its least recently continued responses are dropped.
class ResponseDatabase final : public ask::ResponseStore {
 public:
  // directory: of the file. It is made if it does not exist; only its owner can read what is made.
  // Empty: in memory. owners: as for Owners. Errors: kIo and kBadFile, with
  // the file.
  static Result<std::unique_ptr<ResponseDatabase>> open(const std::string& directory,
                                                        std::vector<std::string> owners,
                                                        const ResponseLimits& limits);
  ~ResponseDatabase() override;

  Result<ask::StoredResponse> find(uint64_t isolation_key, const std::string& id) override;
  Status add(uint64_t isolation_key, const ask::StoredResponse& response) override;
  // Errors: as find. Responses that continue it can no longer be continued.
  Status remove(uint64_t isolation_key, const std::string& id);

 private:
  ResponseDatabase(std::vector<std::string> owners, const ResponseLimits& limits);
  Status write(const std::string& owner, const ask::StoredResponse& response);
  Status failed(const char* done) const;

  const Owners owners_;
  const ResponseLimits limits_;
  std::mutex mutex_;  // guards the database
  sqlite3* database_ = nullptr;
};

}  // namespace pando::serve
