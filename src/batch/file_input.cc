#include "pando/file_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/errors.h"
#include "batch/unpack.h"

namespace pando {

FileInput::FileInput() = default;

FileInput::~FileInput() {
  for (const int file : {file_, wake_[0], wake_[1]})
    if (file > STDERR_FILENO) ::close(file);
}

Status FileInput::open(const std::string& path, const char* what) {
  file_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0)
    return not_found("cannot read {} '{}': {}", what, path, std::strerror(errno));
  if (S_ISDIR(status.st_mode) && file_ == STDIN_FILENO)
    return io_error("standard input is closed or a directory, expected a file or a pipe");
  if (S_ISDIR(status.st_mode))
    return io_error("{} '{}' is a directory, expected a file", what, path);
  is_regular_ = S_ISREG(status.st_mode) && file_ != STDIN_FILENO;
  n_bytes_ = is_regular_ ? static_cast<uint64_t>(status.st_size) : 0;
  char first[Unpacker::kMagicBytes];
  if (const ssize_t n = is_regular_ ? ::pread(file_, first, sizeof first, 0) : 0; n > 0)
    if (Unpacker::for_beginning({first, static_cast<size_t>(n)}) != nullptr) n_bytes_ = 0;
  if (::pipe2(wake_, O_CLOEXEC) != 0) return io_error("cannot make a pipe");
  return {};
}

void FileInput::interrupt() {
  while (::write(wake_[1], "", 1) < 0 && errno == EINTR) {
  }
}

// Waits; 0 at the end.
size_t FileInput::read_some(char* to, size_t n_most) {
  while (true) {
    pollfd waits[2] = {{file_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno == EINTR) continue;
    is_interrupted_ = waits[1].revents != 0;
    if (is_interrupted_) return 0;
    const ssize_t n = ::read(file_, to, n_most);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) throw std::runtime_error(std::strerror(errno));
    n_read_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }
}

// Reads no further than it takes to know whether the input is packed.
void FileInput::begin() {
  size_t n = 0;
  do {
    const size_t n_more = read_some(buffer_.data() + n, buffer_.size() - n);
    if (n_more == 0) break;
    n += n_more;
  } while (Unpacker::may_begin({buffer_.data(), n}));
  unpacker_ = Unpacker::for_beginning({buffer_.data(), n});
  if (unpacker_ != nullptr) {
    std::copy_n(buffer_.begin(), n, packed_buffer_.begin());
    packed_ = {packed_buffer_.data(), n};
  } else {
    setg(buffer_.data(), buffer_.data(), buffer_.data() + n);
  }
}

size_t FileInput::unpack() {
  while (true) {
    if (const size_t n = unpacker_->unpack(packed_, buffer_); n > 0) return n;
    if (!packed_.empty()) continue;
    const size_t n_more = read_some(packed_buffer_.data(), packed_buffer_.size());
    if (n_more == 0 && !is_interrupted_) unpacker_->end(n_read_);
    if (n_more == 0) return 0;
    packed_ = {packed_buffer_.data(), n_more};
  }
}

FileInput::int_type FileInput::underflow() try {
  if (!std::exchange(has_begun_, true)) begin();
  if (gptr() == egptr()) {
    const size_t n = unpacker_ != nullptr ? unpack() : read_some(buffer_.data(), buffer_.size());
    setg(buffer_.data(), buffer_.data(), buffer_.data() + n);
  }
  return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
} catch (const std::runtime_error& error) {
  failure_ = error.what();
  throw;  // sets badbit
}

}  // namespace pando
