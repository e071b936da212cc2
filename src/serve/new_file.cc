#include "serve/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errors.h"

namespace pando::serve {
namespace {

Error not_written() { return io_error("the file cannot be written: {}", std::strerror(errno)); }

}  // namespace

Status write_at(int file, uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return not_written();
    bytes.remove_prefix(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return {};
}

Result<std::string> read_at(int file, uint64_t at, uint64_t n_bytes) {
  std::string bytes(n_bytes, '\0');
  for (size_t n_read = 0; n_read < bytes.size();) {
    const ssize_t n =
        pread(file, bytes.data() + n_read, bytes.size() - n_read, static_cast<off_t>(at + n_read));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return io_error("the file cannot be read: {}",
                      n == 0 ? "it is shorter than it was" : std::strerror(errno));
    n_read += static_cast<size_t>(n);
  }
  return bytes;
}

NewFile::~NewFile() {
  if (!is_open()) return;
  ::close(file_);
  if (!is_kept_) unlink(part().c_str());
}

Status NewFile::open() {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  file_ = ::open(part().c_str(), kFlags, 0600);
  return is_open() ? Status() : Status(not_written());
}

Status NewFile::write(std::string_view bytes) {
  if (Status status = write_at(file_, n_bytes_, bytes); !status) return status;
  n_bytes_ += bytes.size();
  return {};
}

Status NewFile::keep() {
  if (fsync(file_) != 0 || rename(part().c_str(), path_.c_str()) != 0) return not_written();
  is_kept_ = true;
  return sync_directory();
}

Status NewFile::sync_directory() const {
  const std::string directory = path_.substr(0, path_.rfind('/') + 1);
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_synced = opened >= 0 && fsync(opened) == 0;
  const Status status = is_synced ? Status() : Status(not_written());
  if (opened >= 0) ::close(opened);
  return status;
}

}  // namespace pando::serve
