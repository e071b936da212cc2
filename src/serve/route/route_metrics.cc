#include "serve/route/route_metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "serve/process_metrics.h"

namespace pando::serve {
namespace {

struct ReplicaFigure {
  const char *name, *help;
  prometheus::MetricType type;
  double (*value)(const ReplicaOverview&);
};
constexpr ReplicaFigure kReplicaFigures[] = {
    {"pando_route_replica_up", "1 if the replica takes requests", prometheus::MetricType::Gauge,
     [](const ReplicaOverview& f) { return f.health == ReplicaHealth::kUp ? 1.0 : 0.0; }},
    {"pando_route_replica_requests_total", "Requests sent to the replica",
     prometheus::MetricType::Counter,
     [](const ReplicaOverview& f) { return static_cast<double>(f.n_requests); }},
    {"pando_route_replica_failed_total", "Requests that the replica did not answer",
     prometheus::MetricType::Counter,
     [](const ReplicaOverview& f) { return static_cast<double>(f.n_failed); }},
    {"pando_route_replica_continued_total",
     "Streams that the replica continued after another had failed", prometheus::MetricType::Counter,
     [](const ReplicaOverview& f) { return static_cast<double>(f.n_continued); }},
    {"pando_route_replica_open_requests", "Open requests of the replica",
     prometheus::MetricType::Gauge, [](const ReplicaOverview& f) { return f.n_open; }},
    {"pando_route_replica_queue_seconds", "Predicted seconds of prompts queued at the replica",
     prometheus::MetricType::Gauge, [](const ReplicaOverview& f) { return f.seconds_left; }},
};

prometheus::MetricFamily family_of(const ReplicaFigure& figure,
                                   const std::vector<ReplicaOverview>& replicas) {
  prometheus::MetricFamily family{figure.name, figure.help, figure.type, {}};
  for (const ReplicaOverview& facts : replicas) {
    prometheus::ClientMetric metric;
    metric.label = {{"replica", facts.name}};
    (figure.type == prometheus::MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
        figure.value(facts);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

RouteMetrics::RouteMetrics()
    : HttpMetrics("pando_route_"),
      continued_(prometheus::BuildCounter()
                     .Name("pando_route_continued_streams_total")
                     .Help("Streams that went on at another replica")
                     .Register(registry())
                     .Add({})),
      lost_(prometheus::BuildCounter()
                .Name("pando_route_lost_streams_total")
                .Help("Streams that ended with an error because their replica was lost")
                .Register(registry())
                .Add({})),
      limited_(prometheus::BuildCounter()
                   .Name("pando_route_limited_requests_total")
                   .Help("Requests refused because their API key had too many open")
                   .Register(registry())
                   .Add({})) {}

std::string RouteMetrics::text(const std::vector<ReplicaOverview>& replicas) const {
  std::vector<prometheus::MetricFamily> families = registry().Collect();
  for (const ReplicaFigure& figure : kReplicaFigures)
    families.push_back(family_of(figure, replicas));
  for (prometheus::MetricFamily& family : process_metrics()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace pando::serve
