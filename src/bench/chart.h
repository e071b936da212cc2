// Line charts as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pando::bench {

struct Chart {
  struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  // what is not finite leaves a gap
  };
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<Series> series;
};

// Empty for a chart without a point.
std::string to_svg(const Chart& chart);

}  // namespace pando::bench
