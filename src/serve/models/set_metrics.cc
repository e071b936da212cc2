#include "serve/models/set_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "serve/models/model_shelf.h"
#include "serve/process_metrics.h"
#include "serve/single_metric.h"

namespace pando::serve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Appends a model's metrics to the metrics of other models with equal names.
void add_labelled(std::vector<MetricFamily>& families, MetricFamily family,
                  const std::string& model) {
  for (ClientMetric& metric : family.metric) {
    std::erase_if(metric.label, [](const auto& label) { return label.name == "model"; });
    metric.label.insert(metric.label.begin(), {"model", model});
  }
  const auto known = std::ranges::find(families, family.name, &MetricFamily::name);
  if (known == families.end()) return families.push_back(std::move(family));
  for (ClientMetric& metric : family.metric) known->metric.push_back(std::move(metric));
}

}  // namespace

std::string SetMetrics::text(const ModelShelf& shelf, size_t n_connections,
                             size_t n_body_bytes) const {
  std::vector<MetricFamily> families = registry().Collect();
  const auto single = [](const char* name, const char* help, MetricType type, auto value) {
    return single_metric(name, help, type, static_cast<double>(value));
  };
  for (const ModelShelf::Facts& one : shelf.facts()) {
    const MetricFamily of_shelf[] = {
        single("pando_model_loaded", "1 if the model is loaded", MetricType::Gauge,
               one.state == ModelState::kLoaded),
        single("pando_model_bytes", "Bytes of --memory that the model takes", MetricType::Gauge,
               one.n_bytes),
        single("pando_model_requests", "Open requests of the model", MetricType::Gauge, one.n_open),
        single("pando_model_loads_total", "Times that the model was loaded", MetricType::Counter,
               one.n_loads),
        single("pando_model_load_failures_total", "Times that the model could not be loaded",
               MetricType::Counter, one.n_failures)};
    for (const MetricFamily& family : of_shelf) add_labelled(families, family, one.name);
    if (!one.served) continue;
    for (MetricFamily& family : one.served->service->metrics.of_model())
      add_labelled(families, std::move(family), one.name);
  }
  families.push_back(single("pando_memory_bytes",
                            "Bytes of --memory, for weights, keys and values of all models",
                            MetricType::Gauge, shelf.memory()));
  families.push_back(single("pando_open_connections", "Open connections", MetricType::Gauge,
                            n_connections));
  families.push_back(single("pando_body_bytes",
                            "Bytes of request bodies that are being received or read",
                            MetricType::Gauge, n_body_bytes));
  for (MetricFamily& family : process_metrics()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace pando::serve
