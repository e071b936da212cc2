// Figures for Prometheus.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "pando/engine.h"

namespace pando::serve {

// Any thread.
class Metrics {
 public:
  // `model`: its name, as answers have it.
  Metrics(const Engine& engine, const std::string& model);

  // A request was answered: its path as the table of routes has it.
  void count_request(const std::string& path, int status, double seconds);
  void count_cancelled() { cancelled_.Increment(); }
  // An answer's first token, and its end: seconds from the request, and for each token behind the
  // first.
  void first_token(double seconds) { ttft_.Observe(seconds); }
  void next_tokens(double seconds_each) { tpot_.Observe(seconds_each); }

  prometheus::Gauge& under_way() { return under_way_; }

  // All of them, and the counters of engine and process, in the text format.
  std::string text(size_t n_connections, size_t n_body_bytes) const;

 private:
  const Engine& engine_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Counter& cancelled_;
  prometheus::Histogram& ttft_;
  prometheus::Histogram& tpot_;
  prometheus::Gauge& under_way_;
};

}  // namespace pando::serve
