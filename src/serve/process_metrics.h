// What every Prometheus client tells of its process, under the usual names.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace pando::serve {

// process_resident_memory_bytes and so on, of this process as it is now; of /proc, so on Linux.
// What cannot be read is left out. Any thread.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace pando::serve
