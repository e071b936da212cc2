// Ctrl-C and SIGTERM while a run goes on: the first of them lets it finish what is under way, the
// second ends the process. What is ignored stays ignored.
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
