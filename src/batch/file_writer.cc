#include "batch/file_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errors.h"

namespace pando {

FileWriter::~FileWriter() {
  if (file_ >= 0) ::close(file_);
}

Status FileWriter::open(const std::filesystem::path& path) {
  if (file_ >= 0) ::close(file_);
  path_ = path;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file_ >= 0 ? Status() : error("cannot write");
}

Status FileWriter::lock() {
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == ENOTSUP || errno == ENOLCK || errno == ENOSYS) return {};  // not offered there
  if (errno != EWOULDBLOCK) return error("cannot lock");
  return make_error(ErrorCode::kUnavailable, "another process is writing '{}'", path_.string());
}

Status FileWriter::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return error("cannot write");
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status FileWriter::sync() { return ::fdatasync(file_) == 0 ? Status() : error("cannot write"); }

Status FileWriter::truncate(uint64_t n_bytes) {
  return ::ftruncate(file_, static_cast<off_t>(n_bytes)) == 0 ? Status() : error("cannot shorten");
}

Result<uint64_t> FileWriter::size() const {
  struct stat status {};
  if (::fstat(file_, &status) != 0) return error("cannot read");
  return static_cast<uint64_t>(status.st_size);
}

Result<std::string> FileWriter::read(uint64_t begin, uint64_t end) const {
  std::string text(end - begin, '\0');
  for (uint64_t at = begin; at < end;) {
    const ssize_t n = ::pread(file_, &text[at - begin], end - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return error("cannot read");
    if (n == 0) return io_error("'{}' has {} bytes, expected {}", path_.string(), at, end);
    at += static_cast<uint64_t>(n);
  }
  return text;
}

Error FileWriter::error(const char* what) const {
  return io_error("{} '{}': {}", what, path_.string(), std::strerror(errno));
}

}  // namespace pando
