// Figures about requests of HTTP, whatever answers them.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace pando::serve {

// Buckets, in seconds. The last ones are for large models on slow machines, up to the default of
// --request-timeout.
extern const prometheus::Histogram::BucketBoundaries kRequestSeconds;

// Any thread.
class HttpMetrics {
 public:
  // prefix: of all names, such as "pando_".
  explicit HttpMetrics(const std::string& prefix);

  // A request was answered: its path as the table of routes has it.
  void count_request(const std::string& path, int status, double seconds);
  void count_cancelled() { cancelled_.Increment(); }
  prometheus::Gauge& under_way() { return under_way_; }

 protected:
  prometheus::Registry& registry() { return registry_; }
  const prometheus::Registry& registry() const { return registry_; }

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Counter& cancelled_;
  prometheus::Gauge& under_way_;
};

}  // namespace pando::serve
