// The answers of /v1/responses that a server keeps, in SQLite: in memory, or in a file that
// outlives the process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ask/response_store.h"
#include "pando/values/result.h"

struct sqlite3;

namespace pando::serve {

struct ResponseLimits {
  size_t n_responses = 1000;          // of one API key
  size_t n_bytes = size_t{64} << 20;  // of their texts
};

// Where an API key has more than the limits, the responses that were not continued for longest are
// dropped.
class ResponseDatabase final : public ask::ResponseStore {
 public:
  // directory: of the file, made if it is not there; only its owner can read what is made. Empty:
  // in memory. owners: [isolation keys] what tells an API key from others, also when the server
  // starts again. Errors: kIo and kBadFile, with the file.
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
  Status open_file(const std::string& directory);
  Status prepare();
  Status write(const std::string& owner, const ask::StoredResponse& response);
  Status run(const char* sql);
  Status failed(const char* what) const;

  const std::vector<std::string> owners_;
  const ResponseLimits limits_;
  std::mutex mutex_;  // over the database
  sqlite3* database_ = nullptr;
};

}  // namespace pando::serve
