// Metrics of several servers as one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pando::serve {

// Adds texts in Prometheus' format. Samples with equal names and labels are summed. Histograms
// whose buckets differ from the first text's are left out, and so are metrics of a process
// (process_*). One thread.
class MetricSums {
 public:
  // totals_only: only counters and histograms, which never fall.
  void add(std::string_view text, bool totals_only = false);
  std::string text() const;

 private:
  struct Summed {
    std::string type, help;            // lines "# TYPE" and "# HELP"
    std::vector<std::string> samples;  // names with labels, in order
    std::map<std::string, double, std::less<>> values;
  };
  std::vector<std::string> order_;  // of families
  std::map<std::string, Summed, std::less<>> families_;
};

}  // namespace pando::serve
