// Figures of a router.
#pragma once

#include <prometheus/counter.h>

#include <string>
#include <vector>

#include "serve/http_metrics.h"
#include "serve/route/replica_set.h"

namespace pando::serve {

// Their names begin with pando_route_, so that they are not those of replicas. Any thread.
class RouteMetrics : public HttpMetrics {
 public:
  RouteMetrics();

  // Streams that went on at another replica, and those that could not.
  void count_continued() { continued_.Increment(); }
  void count_lost() { lost_.Increment(); }
  void count_refused_by_limit() { limited_.Increment(); }

  // All of them, in the text format.
  std::string text(const std::vector<ReplicaOverview>& replicas) const;

 private:
  prometheus::Counter& continued_;
  prometheus::Counter& lost_;
  prometheus::Counter& limited_;
};

}  // namespace pando::serve
