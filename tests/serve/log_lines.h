// A server logs these.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/options.h"

namespace pando::testing {

class Lines {
 public:
  void put(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  // So many, or what there is after a minute.
  std::vector<std::string> wait_for(size_t n) {
    for (int i = 0; i < 6000 && all().size() < n; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return all();
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Keeps them in `lines`, which must outlive the server.
inline void log_to(Lines& lines, serve::ServerOptions& options) {
  options.log = [&lines](const std::string& line) { lines.put(line); };
}

}  // namespace pando::testing
