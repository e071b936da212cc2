#include "serve/http_metrics.h"

#include "pando/version.h"

namespace pando::serve {

const prometheus::Histogram::BucketBoundaries kRequestSeconds = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};

HttpMetrics::HttpMetrics(const std::string& prefix)
    : requests_(prometheus::BuildCounter()
                    .Name(prefix + "http_requests_total")
                    .Help("Requests answered, by path and status")
                    .Register(registry_)),
      seconds_(prometheus::BuildHistogram()
                   .Name(prefix + "http_request_seconds")
                   .Help("Time from a request to the end of its answer, by path")
                   .Register(registry_)),
      cancelled_(prometheus::BuildCounter()
                     .Name(prefix + "cancelled_requests_total")
                     .Help("Requests whose client disconnected, or that timed out")
                     .Register(registry_)
                     .Add({})),
      under_way_(prometheus::BuildGauge()
                     .Name(prefix + "requests_under_way")
                     .Help("Requests that are waiting or running")
                     .Register(registry_)
                     .Add({})) {
  prometheus::BuildGauge()
      .Name(prefix + "build_info")
      .Help("1, with labels about the build")
      .Register(registry_)
      .Add({{"version", version()}, {"commit", build_commit()}})
      .Set(1);
}

void HttpMetrics::count_request(const std::string& path, int status, double seconds) {
  requests_.Add({{"path", path}, {"status", std::to_string(status)}}).Increment();
  seconds_.Add({{"path", path}}, kRequestSeconds).Observe(seconds);
}

}  // namespace pando::serve
