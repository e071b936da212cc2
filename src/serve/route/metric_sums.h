// Metrics of several servers as one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pando::serve {

// Adds texts in Prometheus' format. Samples of one name and the same labels are summed; those of a
// histogram whose buckets differ from the first text's are left out, as is whatever is about a
// process (process_*). One thread.
class MetricSums {
 public:
  // totals_only: what only grows, so counters and histograms.
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
