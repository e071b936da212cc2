// The records of an input: lines, or rows of a table.
#pragma once

#include <cstdint>
#include <deque>
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
// spaces are left out. A row of a table goes on while a cell's quote is open. An input that is
// packed, or of JSON lines and begins with others (input_kind.h), has a failure and no records.
class RecordScanner {
 public:
  RecordScanner(std::istream& input, InputFormat format, BatchTask task = BatchTask::kAnswer)
      : input_(input), format_(format), task_(task) {}
  std::optional<InputRecord> next();
  // Why the records end before the input does; empty: they do not.
  const std::string& failure() const { return failure_; }

  static constexpr size_t kLongestLine = size_t{1} << 28;  // bytes, also of a row of several lines

 private:
  bool get_line(std::string& line);
  bool read_line(std::string& line);
  std::optional<InputRecord> read_record();
  void look_ahead();

  std::istream& input_;
  InputFormat format_;
  BatchTask task_;
  uint64_t line_ = 0, bytes_read_ = 0;
  bool begun_ = false;
  std::deque<InputRecord> ahead_;  // read already
  std::string failure_;
};

}  // namespace pando
