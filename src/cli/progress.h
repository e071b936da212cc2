// One line on a terminal that says how far a run is.
#pragma once

#include <fmt/format.h>

#include "cli/report.h"

namespace pando::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled) {}

  void update(const BatchProgress& now) {
    const EngineStats& e = now.stats;
    const double rate =
        now.seconds > 0 ? static_cast<double>(e.prefill_rows + e.decode_rows) / now.seconds : 0;
    std::string left;
    const double share_now = now.share_done - now.share_earlier;
    if (share_now > 0.01)
      left = fmt::format(", about {:.0f} s left", now.seconds * (1 - now.share_done) / share_now);
    const std::string reused =
        now.answers_done > 0 ? fmt::format(", {:.0f}% of prompts reused", 100 * share_reused(e))
                             : "";  // counted when an answer is complete
    show(fmt::format("{} answers, {:.0f} tokens/s computed{}{}", now.answers_done, rate, reused,
                     left));
  }

  void show(const std::string& text) {
    if (!enabled_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    shown_ = true;
  }

  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace pando::cli
