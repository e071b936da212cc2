// A file that gets its name only when all of it is on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando::serve {

// Writes PATH.part, which only its owner can read. It is removed if it is not kept.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {}
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Errors of all: kIo, without the path.
  Status open();
  Status write(std::string_view bytes);
  // Renames it to PATH once it is on the disk. A file of that name is replaced.
  Status keep();

  bool is_open() const { return file_ >= 0; }
  uint64_t n_bytes() const { return n_bytes_; }

 private:
  std::string part() const { return path_ + ".part"; }
  Status sync_directory() const;

  const std::string path_;
  int file_ = -1;
  uint64_t n_bytes_ = 0;
  bool is_kept_ = false;
};

// Writes all bytes at this place of an open file. kIo: some of them may be written.
Status write_at(int file, uint64_t at, std::string_view bytes);
// Reads exactly n_bytes. kIo, also for a file that is shorter.
Result<std::string> read_at(int file, uint64_t at, uint64_t n_bytes);

}  // namespace pando::serve
