#include "hub/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/errors.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{100};
constexpr mode_t kMode = 0664;  // users of a group share a cache

// True if `path` still names the open file: its last owner may have removed it.
bool is_same_file(int descriptor, const fs::path& path) {
  struct stat open {
  }, named{};
  return fstat(descriptor, &open) == 0 && lstat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

Error cannot_lock(const fs::path& path, int code) {
  return in_file(path.string(), io_error("cannot be locked: {}", std::strerror(code)));
}

}  // namespace

Result<FileLock> FileLock::acquire(const fs::path& path, const std::function<bool()>& keep_waiting,
                                   Sharing sharing) {
  const int operation = sharing == Sharing::kShared ? LOCK_SH : LOCK_EX;
  for (;;) {
    std::error_code failure;
    fs::create_directories(path.parent_path(), failure);
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode);
    // Another process may have removed the empty folder; tries again.
    if (descriptor < 0 && errno == ENOENT && !failure) continue;
    if (descriptor < 0) return cannot_lock(path, errno);
    FileLock lock(descriptor);
    while (flock(descriptor, operation | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return cannot_lock(path, errno);
      if (!keep_waiting())
        return in_file(path.string(),
                       make_error(ErrorCode::kUnavailable, "is locked by another process"));
      std::this_thread::sleep_for(kPoll);
    }
    if (is_same_file(descriptor, path)) return lock;
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace pando::hub
