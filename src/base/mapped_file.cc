#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/errors.h"
#include "base/is_there.h"
#include "base/lfs_pointer.h"

namespace pando {
namespace {

constexpr size_t kMostPointer = 1024;  // bytes of a Git LFS pointer, by its specification

std::string system_message(int code) { return std::generic_category().message(code); }

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe without a writer must not wait for one.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return why_not_found(path);
    return in_file(path.string(), io_error("cannot be opened: {}", system_message(errno)));
  }
  struct stat status {};
  const bool known = ::fstat(fd, &status) == 0;
  void* data = MAP_FAILED;
  if (known && S_ISREG(status.st_mode) && status.st_size > 0)
    data = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, fd, 0);
  const int code = errno;
  ::close(fd);
  if (known && S_ISDIR(status.st_mode))
    return in_file(path.string(), bad_file("is a directory, expected a file"));
  if (known && !S_ISREG(status.st_mode))
    return in_file(path.string(), bad_file("is not a regular file"));
  if (known && status.st_size == 0) return in_file(path.string(), bad_file("is empty"));
  if (data == MAP_FAILED)
    return in_file(path.string(), io_error("cannot be mapped: {}", system_message(code)));
  MappedFile file;
  file.path_ = path;
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = static_cast<size_t>(status.st_size);
  const std::string_view beginning(reinterpret_cast<const char*>(file.data_),
                                   std::min(file.size_, kMostPointer));
  if (Status status = refuse_lfs_pointer(path, beginning); !status) return status.error();
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(size_t offset, size_t length) const {
  if (offset >= size_) return;
  if (length > size_ - offset) length = size_ - offset;
  // Whole pages inside the range: a page shared with a neighbour stays.
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first = (offset + page - 1) / page * page;
  const size_t last = offset + length == size_ ? offset + length : (offset + length) / page * page;
  if (first < last) ::madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED);
}

}  // namespace pando
