// One line on a terminal that says how far a run is.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "cli/report.h"
#include "cli/say.h"

namespace pando::cli {

class ProgressLine {
 public:
  // `outputs`: what an update counts.
  explicit ProgressLine(bool enabled, const char* outputs = "answers")
      : enabled_(enabled), outputs_(outputs) {}

  void update(const BatchProgress& now) {
    const EngineStats& e = now.stats;
    const uint64_t n_new = e.arrived_tokens - e.arrived_shared;
    const double rate =
        now.seconds > 0 ? static_cast<double>(e.prefill_rows + e.decode_rows) / now.seconds : 0;
    std::string text = fmt::format("{} {}", now.answers_done, outputs_);
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
    if (!enabled_) return;
    say("\r\033[K{}", text);
    std::fflush(stderr);
    shown_ = true;
  }

  void clear() {
    if (shown_) say("\r\033[K");
    shown_ = false;
  }

 private:
  static std::string duration(double seconds) {
    return seconds < 100        ? fmt::format("{:.0f} s", seconds)
           : seconds < 100 * 60 ? fmt::format("{:.0f} min", seconds / 60)
                                : fmt::format("{:.1f} h", seconds / 3600);
  }

  bool enabled_;
  const char* outputs_;
  bool shown_ = false;
};

}  // namespace pando::cli
