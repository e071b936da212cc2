// A whole file, mapped read-only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "pando/values/result.h"

namespace pando {

// Owns the mapping; readable from any thread. Pages are read when touched, so a file larger than
// memory can be read from front to back. If another process cuts the file short while it is mapped,
// this process ends (SIGBUS): model files must not be changed in place.
class MappedFile {
 public:
  // kNotFound if nothing has the name, kBadFile for a directory, an empty file or a Git LFS
  // pointer, kIo otherwise.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }  // bytes
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // Tells the system that [offset, offset + length) will not be read soon: its memory may go. The
  // bytes stay readable (they are read from the file again). Outside the file: no effect.
  void release(size_t offset, size_t length) const;

 private:
  MappedFile() = default;

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pando
