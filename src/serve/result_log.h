// Results of a batch as they come: one file, in which each record is a result and its own journal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pando/values/result.h"
#include "serve/http.h"

namespace pando::serve {

// How a line of a batch ended.
enum class LineEnd : char { kAnswered = 'a', kFailed = 'f', kNotRun = 'n' };

// A record is a line "HASH END INDEX JSON": the XXH3 hash of what follows it in 16 hexadecimal
// digits, the LineEnd, the index of the batch's line, and the result. A line of the batch is over
// when its record is complete, so no second file can disagree. Records behind the first broken one
// are dropped: their lines are asked again.
class ResultLog {
 public:
  // Makes the file if it does not exist. kIo.
  static Result<std::unique_ptr<ResultLog>> open(const std::string& path);

  struct Record {
    uint64_t begin = 0, n_bytes = 0;  // of the JSON text
    LineEnd end = LineEnd::kAnswered;
  };
  // Complete records, by index.
  const std::map<size_t, Record>& records() const { return records_; }
  // kIo.
  Result<std::string> text(const Record& record) const;

  // json: one line. Written by the next commit.
  void add(size_t index, LineEnd end, const std::string& json);
  bool has_pending() const { return !pending_.empty(); }
  // Writes pending records, which a crash of the process then leaves alone. kIo: they stay pending.
  Status commit();
  // Waits until all that was committed is on the disk. kIo.
  Status sync();

 private:
  explicit ResultLog(int file) : file_(file, 0) {}
  Status load();
  // A line of the file at this place. False: it is broken.
  bool take(std::string_view line, uint64_t begin);

  const FileContents file_;
  uint64_t n_bytes_ = 0;  // of complete records
  std::map<size_t, Record> records_;
  std::string pending_;  // records, which follow n_bytes_
  std::vector<std::pair<size_t, Record>> pending_records_;
  bool is_synced_ = true;
};

}  // namespace pando::serve
