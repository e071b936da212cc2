// Times of short calls: by the clock, and by the time that processors spent.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "base/function_ref.h"

namespace pando::bench {

// Bytes that caches cannot hold: twice the size of the last-level cache as the system reports it,
// at least 256 MiB. (In a virtual machine that is the host's, 480 MiB on some, shared by all
// guests.)
size_t bytes_beyond_caches();

// Processor time of all threads of the process: other work on the machine does not count, waiting
// for one another does. The system counts threads other than the caller only at its ticks, every
// few milliseconds.
double processor_seconds();

// Processor time that others have taken since this was made: processes other than this one and its
// ended children, and the host of a virtual machine.
class OtherWork {
 public:
  // root: see busy_processor_seconds (base/machine.h).
  explicit OtherWork(std::filesystem::path root = "/");
  // Their share of the time of all processors, 0 to 1; nothing if the system does not say.
  std::optional<double> share() const;

 private:
  std::filesystem::path root_;
  std::chrono::steady_clock::time_point start_;
  std::optional<double> others_;  // seconds before
};

// Seconds of one call, from at least ten samples after one call that does not count.
struct CallTime {
  double wall;       // on the clock, the median
  double processor;  // of all threads together, the mean
  double spread;     // between the quarters of the samples on the clock, as a part of the median
};
CallTime time_calls(double seconds, FunctionRef<void()> call);

// Seconds on the clock of each call in every round; calls take turns, each first in some rounds.
// [calls][rounds], at least nine rounds, about `seconds` in all.
std::vector<std::vector<double>> times_in_turn(double seconds,
                                               const std::vector<std::function<void()>>& calls);
// Median over rounds of `other` over `one`: how many times faster `one` is.
double times_faster(const std::vector<double>& one, const std::vector<double>& other);

}  // namespace pando::bench
