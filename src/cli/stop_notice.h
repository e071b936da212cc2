// Messages of a long command that a signal stops.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/progress.h"
#include "cli/stop_signal.h"

namespace pando::cli {

class StopNotice {
 public:
  // `outputs`: the noun, in the plural, for the results that the command counts.
  StopNotice(const StopSignal& signal, ProgressLine& progress, const char* outputs)
      : signal_(signal), progress_(progress), outputs_(outputs) {}

  // Prints once how many outputs will still be finished.
  void update(const BatchProgress& now);

 private:
  const StopSignal& signal_;
  ProgressLine& progress_;
  const char* outputs_;
  bool said_so_ = false;
};

// Prints at the end that `n` outputs are finished, and then `more`. Returns the exit code.
int report_stop(int signal, uint64_t n, std::string_view outputs, std::string_view more);

}  // namespace pando::cli
