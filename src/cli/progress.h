// Shows how far a run is: on a terminal in one line that changes, in a log by a line every ten
// seconds.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/counted.h"
#include "cli/print_stderr.h"
#include "cli/report.h"

namespace pando::cli {

inline std::string duration(double seconds) {
  return seconds < 1          ? "1 s"
         : seconds < 100      ? fmt::format("{:.0f} s", seconds)
         : seconds < 100 * 60 ? fmt::format("{:.0f} min", seconds / 60)
                              : fmt::format("{:.1f} h", seconds / 3600);
}

class ProgressLine {
 public:
  // `outputs`: what an update counts.
  explicit ProgressLine(bool quiet, const char* outputs = "answers",
                        std::chrono::milliseconds log_every = std::chrono::seconds(10))
      : quiet_(quiet),
        is_terminal_(isatty(STDERR_FILENO) != 0),
        outputs_(outputs),
        log_every_(log_every) {}

  // `more` follows the count in the line: ", perplexity 12.3".
  void update(const BatchProgress& now, const std::string& more = {}) {
    const EngineStats& e = now.stats;
    const uint64_t n_new = e.arrived_tokens - e.arrived_shared;
    const double rate =
        now.seconds > 0 ? static_cast<double>(e.prefill_rows + e.decode_rows) / now.seconds : 0;
    std::string text = counted(now.answers_done, outputs_) + more;
    if (now.stopping) text += fmt::format(", {} to finish", now.answers_open);
    if (e.arrived_tokens > 0)
      text += fmt::format(
          "; {} of {} prompt tokens computed, {:.0f}% shared", e.prefill_rows,
          std::max(n_new, e.prefill_rows),
          100 * (1 - static_cast<double>(n_new) / static_cast<double>(e.arrived_tokens)));
    text += fmt::format("; {:.0f} tokens/s", rate);
    if (now.seconds_left) text += fmt::format("; about {} left", duration(*now.seconds_left));
    show(text);
  }

  void show(const std::string& text) {
    if (quiet_) return;
    if (!is_terminal_) {
      if (Clock::now() - logged_ < log_every_) return;
      logged_ = Clock::now();
      return print_stderr("pando: {}\n", text);
    }
    print_stderr("\r\033[K{}", text);
    std::fflush(stderr);
    shown_ = true;
  }

  void clear() {
    if (shown_) print_stderr("\r\033[K");
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool quiet_, is_terminal_;
  const char* outputs_;
  std::chrono::milliseconds log_every_;
  Clock::time_point logged_ = Clock::now();
  bool shown_ = false;
};

}  // namespace pando::cli
