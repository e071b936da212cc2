// Metrics that stand alone, without labels.
#pragma once

#include <prometheus/metric_family.h>

#include <string>

namespace pando::serve {

// A counter or a gauge.
inline prometheus::MetricFamily single_metric(const std::string& name, const std::string& help,
                                              prometheus::MetricType type, double value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {name, help, type, {metric}};
}

}  // namespace pando::serve
