// The records of an input: lines, or rows of a table.
#pragma once

#include <cstdint>
#include <deque>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "pando/batch.h"

namespace pando {

struct InputRecord {
  std::string text;      // without its end
  uint64_t line = 0;     // number of its first line, or of an array's object, from 1
  uint64_t n_lines = 1;  // that a row of a table has
  bool in_array = false;
  uint64_t bytes_read = 0;  // of the input, with this record

  const char* place() const { return in_array ? "object" : "line"; }
};

// A byte-order mark at the beginning and carriage returns at ends of lines do not count; lines of
// spaces are left out. A row of a table goes on while a cell's quote is open. Where an input of
// JSON lines begins with a bracket its records are the elements of that array, over however many
// lines. An input that is packed, or of JSON lines and begins with others (input_kind.h), has a
// failure and no records.
class RecordScanner {
 public:
  RecordScanner(std::istream& input, InputFormat format, BatchTask task = BatchTask::kAnswer)
      : input_(input), format_(format), task_(task) {}
  std::optional<InputRecord> next();
  // Why the records end before the input does; empty: they do not.
  const std::string& failure() const { return failure_; }

  static constexpr size_t kLongestLine = size_t{1} << 28;  // bytes, also of a row of several lines

 private:
  int get();
  void put_back(std::string_view text);
  bool get_line(std::string& line);
  bool begins_array();
  int get_in_array();
  std::optional<InputRecord> read_element();
  std::optional<InputRecord> no_record(std::string failure);
  bool read_line(std::string& line);
  std::optional<InputRecord> read_record();
  void look_ahead();

  std::istream& input_;
  InputFormat format_;
  BatchTask task_;
  uint64_t line_ = 0, bytes_read_ = 0;
  bool begun_ = false, in_array_ = false;
  uint64_t n_elements_ = 0;
  std::string back_;               // read, to be read again
  std::deque<InputRecord> ahead_;  // read already
  std::string failure_;
};

}  // namespace pando
