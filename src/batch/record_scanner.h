// The records of an input: lines, or rows of a table.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

#include "pando/batch.h"

namespace pando {

struct InputRecord {
  std::string text;         // without its end
  uint64_t line = 0;        // number of its first line, from 1
  uint64_t bytes_read = 0;  // of the input, with this record
};

// A byte-order mark at the beginning and carriage returns at ends of lines do not count; lines of
// spaces are left out. A row of a table goes on while a cell's quote is open.
class RecordScanner {
 public:
  RecordScanner(std::istream& input, InputFormat format) : input_(input), format_(format) {}
  std::optional<InputRecord> next();
  // Why the records end before the input does; empty: they do not.
  const std::string& failure() const { return failure_; }

  static constexpr size_t kLongestLine = size_t{1} << 28;  // bytes, also of a row of several lines

 private:
  bool get_line(std::string& line);
  bool read_line(std::string& line);

  std::istream& input_;
  InputFormat format_;
  uint64_t line_ = 0, bytes_read_ = 0;
  std::string failure_;
};

}  // namespace pando
