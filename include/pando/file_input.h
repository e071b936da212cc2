// An input whose reader can be called off while it waits: for run_batch, which does so when it ends
// before its input does.
#pragma once

#include <array>
#include <streambuf>
#include <string>

#include "pando/result.h"

namespace pando {

// One reader; `interrupt` from any thread.
class FileInput : public std::streambuf {
 public:
  FileInput() = default;
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;
  ~FileInput() override;

  // "-" is standard input. Errors: kNotFound, kIo.
  Status open(const std::string& path);
  uint64_t n_bytes() const { return n_bytes_; }    // of a regular file, else 0
  bool is_regular() const { return is_regular_; }  // can be read again

  // From any thread: a read that waits, and all later ones, find the end.
  void interrupt();

 protected:
  int_type underflow() override;

 private:
  int file_ = -1;
  int wake_[2] = {-1, -1};  // a pipe: read end, write end
  bool is_regular_ = false;
  uint64_t n_bytes_ = 0;
  std::array<char, size_t{1} << 16> buffer_;
};

}  // namespace pando
