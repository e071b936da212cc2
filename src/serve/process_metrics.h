// Every Prometheus client tells these of its process, under the usual names.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace pando::serve {

// process_resident_memory_bytes and so on, of this process as it is now; of /proc, so on Linux.
// Leaves out what cannot be read. Any thread.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace pando::serve
