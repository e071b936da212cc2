// Figures for Prometheus.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "pando/engine.h"
#include "serve/http_metrics.h"

namespace pando::serve {

// Any thread.
class Metrics : public HttpMetrics {
 public:
  // `model`: its name, as answers have it.
  Metrics(const Engine& engine, const std::string& model);

  // An answer's first token, and its end: seconds from the request, and for each token behind the
  // first.
  void first_token(double seconds) { ttft_.Observe(seconds); }
  void next_tokens(double seconds_each) { tpot_.Observe(seconds_each); }

  // Returns the engine's metrics, without those of HTTP.
  std::vector<prometheus::MetricFamily> of_model() const;
  // All of them, and the counters of engine and process, in the text format.
  std::string text(size_t n_connections, size_t n_body_bytes) const;

 private:
  void add_of_engine(std::vector<prometheus::MetricFamily>& families) const;

  const Engine& engine_;
  prometheus::Histogram& ttft_;
  prometheus::Histogram& tpot_;
};

}  // namespace pando::serve
