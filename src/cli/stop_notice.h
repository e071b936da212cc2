// What a long command says when a signal stops it.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/progress.h"
#include "cli/stop_signal.h"

namespace pando::cli {

class StopNotice {
 public:
  // `outputs`: what the command finishes and counts, in the plural.
  StopNotice(const StopSignal& signal, ProgressLine& progress, const char* outputs)
      : signal_(signal), progress_(progress), outputs_(outputs) {}

  // Says once what is still finished.
  void update(const BatchProgress& now);

 private:
  const StopSignal& signal_;
  ProgressLine& progress_;
  const char* outputs_;
  bool said_so_ = false;
};

// At the end: how many `outputs` there are, and what else is to be said. Returns the exit code.
int report_stop(int signal, uint64_t n, std::string_view outputs, std::string_view more);

}  // namespace pando::cli
