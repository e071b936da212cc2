// Ctrl-C and SIGTERM: the first lets a run finish what is under way, the second ends the process.
#pragma once

#include <atomic>

namespace pando::cli {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // puts back what was there

  const std::atomic<bool>& flag() const;
  int signal() const;  // that came, or 0
};

}  // namespace pando::cli
