// Locks between processes that share a cache.
#pragma once

#include <filesystem>
#include <functional>
#include <utility>

#include "pando/values/result.h"

namespace pando::hub {

enum class Sharing { kExclusive, kShared };

// A flock(2) of a file, which the hub's own library locks in the same way (exclusively). The file
// stays when the lock goes.
class FileLock {
 public:
  // Makes the file and its folder if they are absent. While another process holds the lock, calls
  // `keep_waiting` every 100 ms; kUnavailable once it returns false.
  static Result<FileLock> acquire(const std::filesystem::path& path,
                                  const std::function<bool()>& keep_waiting,
                                  Sharing sharing = Sharing::kExclusive);

  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace pando::hub
