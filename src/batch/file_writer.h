// A file that is only appended to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

class FileWriter {
 public:
  FileWriter() = default;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();

  Status open(const std::filesystem::path& path);
  // Locks the file until this object or the process ends. kUnavailable: another process holds it.
  Status lock();
  Status write(std::string_view text);
  Status sync();  // to the disk
  Status truncate(uint64_t n_bytes);
  Result<uint64_t> size() const;
  Result<std::string> read(uint64_t begin, uint64_t end) const;

 private:
  Error error(const char* what) const;

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace pando
