#include "pando/file_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ios>

#include "base/errors.h"

namespace pando {

FileInput::~FileInput() {
  for (const int file : {file_, wake_[0], wake_[1]})
    if (file > STDERR_FILENO) ::close(file);
}

Status FileInput::open(const std::string& path) {
  file_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0)
    return not_found("cannot read input '{}': {}", path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return io_error("input '{}' is a directory, expected a file", path);
  is_regular_ = S_ISREG(status.st_mode) && file_ != STDIN_FILENO;
  n_bytes_ = is_regular_ ? static_cast<uint64_t>(status.st_size) : 0;
  if (::pipe2(wake_, O_CLOEXEC) != 0) return io_error("cannot make a pipe");
  return {};
}

void FileInput::interrupt() {
  while (::write(wake_[1], "", 1) < 0 && errno == EINTR) {
  }
}

FileInput::int_type FileInput::underflow() {
  while (true) {
    pollfd waits[2] = {{file_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno == EINTR) continue;
    if (waits[1].revents != 0) return traits_type::eof();
    const ssize_t n = ::read(file_, buffer_.data(), buffer_.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) throw std::ios_base::failure(std::strerror(errno));  // sets badbit
    if (n == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + n);
    return traits_type::to_int_type(*gptr());
  }
}

}  // namespace pando
