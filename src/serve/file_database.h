// SQLite database of files and batches (/v1/files, /v1/batches) in the state directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/file_limits.h"
#include "serve/list_page.h"
#include "serve/owners.h"

struct sqlite3;

namespace pando::serve {

struct StoredFile {
  std::string id, filename, purpose;
  uint64_t n_bytes = 0;
  int64_t created = 0;                  // seconds since 1970
  std::optional<int64_t> expires = {};  // the same; absent: never
};

template <class T>
struct Listed {
  std::vector<T> objects;
  bool has_more = false;
};

struct StoredBatch {
  std::string id;
  std::optional<uint64_t> key;  // isolation key of its owner; absent: the server no longer has it
  Json object;                  // as clients see it
};

// Any thread may use it, and several processes may use one directory. Rows of one isolation key are
// not found with another.
class FileDatabase {
 public:
  // owners: as for Owners. Errors: kIo and kBadFile, with the file.
  static Result<std::unique_ptr<FileDatabase>> open(const std::string& directory,
                                                    std::vector<std::string> owners);
  ~FileDatabase();

  // kInvalidArgument if the key would exceed the limits of all its files.
  Status add_file(uint64_t key, const StoredFile& file, const FileLimits& limits);
  // A file that has not expired at `now`. Errors: kNotFound, kIo.
  Result<StoredFile> find_file(uint64_t key, const std::string& id, int64_t now);
  // purpose: empty for all. Errors: kNotFound if `page.after` is not there, kIo.
  Result<Listed<StoredFile>> list_files(uint64_t key, const std::string& purpose,
                                        const ListPage& page, int64_t now);
  // Errors: kNotFound, kIo; kInvalidArgument if a batch that is not over reads the file.
  Status remove_file(uint64_t key, const std::string& id, int64_t now);
  // Removes rows of expired files that no batch reads.
  Status remove_expired(int64_t now);
  // True if the file has a row, be it expired.
  Result<bool> has_file(const std::string& id);

  // kInvalidArgument if the key has too many batches that are not over. Drops the oldest rows of
  // finished batches beyond the limit.
  Status add_batch(uint64_t key, const Json& object, const BatchLimits& limits);
  Result<StoredBatch> find_batch(uint64_t key, const std::string& id);
  Result<Listed<Json>> list_batches(uint64_t key, const ListPage& page);
  // Batches of all keys that are not over, the oldest first.
  Result<std::vector<StoredBatch>> open_batches();
  // Changes a batch in one transaction and returns it. `change` may return an error, which undoes
  // all. `files`: rows to add for it in the same transaction, whatever the limits.
  using Change = std::function<Status(Json& object)>;
  Result<Json> change_batch(const std::string& id, const Change& change,
                            const std::vector<StoredFile>& files = {});
  // Changes a batch of this key. Errors: also kNotFound.
  Result<Json> change_batch_of(uint64_t key, const std::string& id, const Change& change);

 private:
  explicit FileDatabase(std::vector<std::string> owners) : owners_(std::move(owners)) {}
  Status failed(const char* done) const;
  Status insert_file(const std::string& owner, const StoredFile& file);
  Result<Json> change(const std::string& id, const std::string* owner, const Change& change,
                      const std::vector<StoredFile>& files);
  // Row number behind which a page begins. kNotFound.
  Result<int64_t> row_of(const char* table, const std::string& owner, const ListPage& page);

  const Owners owners_;
  std::mutex mutex_;  // guards the database
  sqlite3* database_ = nullptr;
};

// True for the status of a batch that will not change any more.
bool is_batch_over(const Json& batch);

}  // namespace pando::serve
