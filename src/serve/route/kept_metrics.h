// Metrics of all replicas that a router has had, also of ones that are gone.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "serve/route/metric_sums.h"

namespace pando::serve {

// Keeps the latest text of each replica, so that sums of counters do not fall when one is away or
// starts again. Any thread.
class KeptMetrics {
 public:
  // most: replicas; the totals of further ones are kept as one sum.
  explicit KeptMetrics(size_t most) : most_(most) {}

  void keep(const std::string& replica, std::string text);
  // The sums of the replicas that are present; of others, counters and histograms alone.
  std::string text(const std::set<std::string>& present) const;

 private:
  struct Kept {
    std::string text;
    uint64_t turn;
  };
  const size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;  // by replica
  uint64_t n_turns_ = 0;
  MetricSums past_;  // totals of processes that are gone
};

}  // namespace pando::serve
