// Input and output files of a command; "-" is standard input and output.
#pragma once

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>

#include "pando/result.h"

namespace pando::cli {

// The input from its beginning, or standard input once.
struct Input {
  std::ifstream file;
  std::istream* stream = &std::cin;
  uint64_t n_bytes = 0;
  bool is_regular = false;  // can be read again

  Status open(const std::string& path);
};

// A file to write anew that keeps what it holds until `begin`: a command that cannot start loses
// nothing.
class OutputFile {
 public:
  Status open(const std::string& path);
  std::ostream& begin();

 private:
  std::string path_;
  std::ofstream file_;
};

bool same_file(const std::string& a, const std::string& b);

}  // namespace pando::cli
