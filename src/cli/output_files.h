// Output files of a command; "-" is standard output.
#pragma once

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando::cli {

// Says whether a file could be written, or made where there is none. Makes nothing. kIo.
Status check_writable(const std::string& path);

// A file to write anew that keeps what it holds until `begin`, and is not made before: a command
// that cannot start loses nothing and leaves nothing.
class OutputFile {
 public:
  Status open(const std::string& path);  // as check_writable
  bool is_regular() const;               // or would be
  std::ostream& begin();

 private:
  std::string path_;
  std::ofstream file_;
};

// A file that takes the place of what was there only once it is whole. A pipe or device is written
// to as it is.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();  // a file that was not kept is gone

  Status open(const std::string& path);
  // `keep` returns the error of a failed write.
  void write(std::string_view text);
  Status keep();

 private:
  std::string path_, unfinished_;  // the latter empty for a pipe or device, and once it is kept
  std::ofstream file_;
  Status written_;  // the first failure
};

// Says whether standard output is a pipe that nobody reads any more, as before `| head`.
bool reader_is_gone();
// Quietly, as other programs that write to it.
[[noreturn]] void end_as_by_sigpipe();

// Replaces closed standard descriptors by ones that can be neither read nor written, so that no
// file gets their numbers. Call it before anything is opened.
void fill_standard_descriptors();

// Also of files that are not there yet.
bool same_file(const std::string& a, const std::string& b);

}  // namespace pando::cli
