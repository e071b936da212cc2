// An input whose reader can be called off while it waits: for run_batch, which does so when it ends
// before its input does.
#pragma once

#include <array>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

class Unpacker;

// One reader; `interrupt` from any thread. Unpacks gzip and zstd, which the first bytes tell.
class FileInput : public std::streambuf {
 public:
  FileInput();
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;
  ~FileInput() override;

  // "-" is standard input. `what` is the noun for it in messages. Errors: kNotFound, kIo.
  Status open(const std::string& path, const char* what = "input");
  uint64_t n_bytes() const { return n_bytes_; }    // of a regular file that is not packed, else 0
  bool is_regular() const { return is_regular_; }  // can be read again

  // Why it could not be read on; empty: it could.
  const std::string& failure() const { return failure_; }

  // Any thread: a waiting read, and all later ones, find the end of the input.
  void interrupt();

 protected:
  int_type underflow() override;

 private:
  size_t read_some(char* to, size_t n);
  void begin();
  size_t unpack();

  int file_ = -1;
  int wake_[2] = {-1, -1};  // a pipe: read end, write end
  bool is_regular_ = false;
  uint64_t n_bytes_ = 0, n_read_ = 0;
  bool has_begun_ = false, is_interrupted_ = false;
  std::unique_ptr<Unpacker> unpacker_;
  std::array<char, size_t{1} << 16> buffer_, packed_buffer_;
  std::string_view packed_;  // in the second, not yet unpacked
  std::string failure_;
};

// The whole text of a file, or of standard input ("-"), unpacked as by FileInput, without a
// byte-order mark. Errors: those of `open`; kIo if reading fails; kBadFile for text that is not
// UTF-8 or has a zero byte.
Result<std::string> read_text(const std::string& path);

}  // namespace pando
