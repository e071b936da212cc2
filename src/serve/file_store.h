// Files and batches in the state directory: rows in a database, contents and logs beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "serve/file_database.h"

namespace pando::serve {

// Any thread may use it, and several processes may use one directory.
//
//   files.db           rows of files and batches
//   files/ID           contents of a file; ID.part is not complete
//   batches/ID.log     results of a batch that is not over (result_log.h)
//   batches/lock       locked by the process that runs batches
class FileStore {
 public:
  struct Options {
    std::string directory;
    std::vector<std::string> owners;  // as for Owners
    FileLimits limits;
    UnixTime now;  // empty: the system's clock
  };
  // Errors: kIo and kBadFile.
  static Result<std::unique_ptr<FileStore>> open(Options options);
  ~FileStore();

  FileDatabase& database() { return *database_; }
  const FileLimits& limits() const { return options_.limits; }
  int64_t now() const { return options_.now(); }
  std::string path_of(std::string_view file) const;
  std::string log_of(std::string_view batch) const;

  // Removes a file's row, then its contents. Errors: those of FileDatabase.
  Status remove(uint64_t key, const std::string& id);
  // Removes expired files, and contents and logs that nothing refers to and that were not written
  // for an hour.
  Status sweep();

  // True if this process runs the batches of the directory; tries to become it.
  bool lock_batches();

  // Set when a batch was added or changed by a client.
  std::atomic<bool> has_changed{false};
  std::atomic<int> n_uploads{0};  // that are being received

 private:
  explicit FileStore(Options options) : options_(std::move(options)) {}
  Status sweep_folder(const char* folder, std::string_view ending,
                      const std::function<Result<bool>(const std::string& id)>& is_used) const;

  Options options_;
  std::unique_ptr<FileDatabase> database_;
  int lock_ = -1;  // file descriptor, once it is locked
};

}  // namespace pando::serve
