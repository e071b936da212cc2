// Charts of lines, or of points by name, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pando::bench {

struct Chart {
  struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  // a value that is not finite leaves a gap
  };
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<std::string> x_names;  // of x = 1, 2, ...: points of a series are not joined then
  std::vector<Series> series;
};

// A point of a series, at a name; each is there once, in the order in which they came.
void add_by_name(Chart& chart, const std::string& x_name, const std::string& series, double y);

// Empty for a chart without a point.
std::string to_svg(const Chart& chart);

}  // namespace pando::bench
