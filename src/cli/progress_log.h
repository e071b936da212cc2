// A log of a run's progress: JSON lines, one every ten seconds.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "pando/batch.h"

namespace pando::cli {

// Each line is written at once, so that a killed run leaves whole lines:
//   {"time", "state", "answers", "open", "share_done", "prompt_tokens", "computed_tokens",
//    "tokens_per_second", "seconds", "seconds_left"}
// `state` is running, stopping, finished, stopped or failed. `share_done`, of the input, and
// `seconds_left` are null where they are not known.
class ProgressLog {
 public:
  explicit ProgressLog(std::chrono::milliseconds every = std::chrono::seconds(10))
      : every_(every) {}
  ProgressLog(const ProgressLog&) = delete;
  ProgressLog& operator=(const ProgressLog&) = delete;
  ~ProgressLog();

  // Goes on behind the lines of an earlier run; an incomplete last line is cut off. Errors: kIo;
  // kInvalidArgument for a file that holds something else than a log.
  Status open(const std::string& path);

  // The first is written, then the next after each interval.
  void update(const BatchProgress& now);
  // Always written. `state`: "finished", "stopped" or "failed".
  void end(std::string_view state, const BatchProgress& last);

  // Errors: kIo, of the first line that could not be written.
  const Status& status() const { return status_; }

 private:
  using Clock = std::chrono::steady_clock;

  Status cut_off_rest();
  void write(std::string_view state, const BatchProgress& now);

  std::chrono::milliseconds every_;
  std::string path_;
  int file_ = -1;
  bool has_written_ = false;
  Clock::time_point written_;
  Status status_;
};

}  // namespace pando::cli
