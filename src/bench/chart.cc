#include "bench/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "bench/svg.h"
#include "bench/table.h"

namespace pando::bench {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 70, kRight = 200, kTop = 40, kBottom = 56;

struct Axis {
  bool log;
  double from, to;    // of the values, or of their logarithms
  double begin, end;  // of the drawing

  static std::optional<Axis> over(bool log, bool from_zero, const std::vector<double>& values,
                                  double begin, double end) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : values) {
      if (!std::isfinite(value) || (log && value <= 0)) continue;
      low = std::min(low, log ? std::log10(value) : value);
      high = std::max(high, log ? std::log10(value) : value);
    }
    if (low > high) return std::nullopt;
    if (log) low = round_log(low, false), high = round_log(high, true);
    if (from_zero && !log) low = std::min(low, 0.0);
    if (low == high) low -= 0.5, high += 0.5;
    return Axis{log, low, high, begin, end};
  }
  // The next of 1, 2, 5, 10, ... below or above, as logarithms.
  static double round_log(double value, bool up) {
    constexpr double kTiny = 1e-9;
    const double decade = std::floor(value);
    double below = decade;
    for (const double digit : {2.0, 5.0, 10.0}) {
      const double next = decade + std::log10(digit);
      if (value <= below + kTiny) return below;
      if (value < next - kTiny) return up ? next : below;
      below = next;
    }
    return below;
  }
  double at(double value) const {
    const double v = log ? std::log10(value) : value;
    return begin + (v - from) / (to - from) * (end - begin);
  }
  bool shows(double value) const { return std::isfinite(value) && (!log || value > 0); }
  // Round values, about five of them.
  std::vector<double> ticks() const {
    std::vector<double> all;
    if (log) {
      for (double decade = std::floor(from); decade <= to; ++decade)
        for (const double digit : {1.0, 2.0, 5.0})
          if (const double l = decade + std::log10(digit); l >= from - 1e-9 && l <= to + 1e-9)
            all.push_back(std::pow(10.0, l));
      return all;
    }
    const double raw = (to - from) / 5, unit = std::pow(10.0, std::floor(std::log10(raw)));
    const double step = unit * (raw / unit > 5 ? 10 : raw / unit > 2 ? 5 : raw / unit > 1 ? 2 : 1);
    for (double v = std::ceil(from / step) * step; v <= to + step * 1e-6; v += step)
      all.push_back(std::abs(v) < step * 1e-6 ? 0 : v);
    return all;
  }
};

}  // namespace

void add_by_name(Chart& chart, const std::string& x_name, const std::string& series, double y) {
  const auto name = std::ranges::find(chart.x_names, x_name);
  const auto x = static_cast<double>(name - chart.x_names.begin() + 1);
  if (name == chart.x_names.end()) chart.x_names.push_back(x_name);
  auto found = std::ranges::find(chart.series, series, &Chart::Series::name);
  if (found == chart.series.end()) found = chart.series.insert(found, {series, {}});
  found->points.emplace_back(x, y);
}

std::string to_svg(const Chart& chart) {
  std::vector<double> xs, ys;
  for (const Chart::Series& series : chart.series)
    for (const auto& [x, y] : series.points)
      if (std::isfinite(x) && std::isfinite(y)) xs.push_back(x), ys.push_back(y);
  const bool named = !chart.x_names.empty();
  const std::optional<Axis> x_axis =
      named ? Axis{false, 0.5, static_cast<double>(chart.x_names.size()) + 0.5, kLeft,
                   kWidth - kRight}
            : Axis::over(chart.log_x, false, xs, kLeft, kWidth - kRight);
  const auto y_axis = Axis::over(chart.log_y, true, ys, kHeight - kBottom, kTop);
  if (!x_axis || !y_axis) return {};

  std::string svg = svg_sheet(kWidth, kHeight);
  svg += text_at(kLeft, 22, "start", chart.title);
  const auto x_tick = [&](double value, const std::string& name) {
    const double x = x_axis->at(value);
    svg +=
        fmt::format("<path d=\"M{:.1f} {}V{}\" stroke=\"#dddddd\"/>\n", x, kTop, kHeight - kBottom);
    svg += text_at(x, kHeight - kBottom + 16, "middle", name);
  };
  for (size_t i = 0; i < chart.x_names.size(); ++i)
    x_tick(static_cast<double>(i + 1), chart.x_names[i]);
  if (!named)
    for (const double tick : x_axis->ticks()) x_tick(tick, fmt::format("{:g}", tick));
  for (const double tick : y_axis->ticks()) {
    const double y = y_axis->at(tick);
    svg +=
        fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"#dddddd\"/>\n", kLeft, y, kWidth - kRight);
    svg += text_at(kLeft - 6, y + 4, "end", fmt::format("{:g}", tick));
  }
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - 16, "middle", chart.x_label);
  svg += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kTop + kHeight - kBottom) / 2, escaped(chart.y_label));

  for (size_t i = 0; i < chart.series.size(); ++i) {
    const char* color = kColors[i % kColors.size()];
    std::string path, dots;
    bool pen_down = false;
    for (const auto& [x, y] : chart.series[i].points) {
      if (!x_axis->shows(x) || !y_axis->shows(y)) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen_down && !named ? "L" : "M", x_axis->at(x),
                          y_axis->at(y));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                          x_axis->at(x), y_axis->at(y), color);
      pen_down = true;
    }
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path,
                       color);
    svg += dots;
    const double y = kTop + 8 + 18 * static_cast<double>(i);
    svg += fmt::format("<path d=\"M{} {}h18\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       kWidth - kRight + 12, y, color);
    svg += text_at(kWidth - kRight + 36, y + 4, "start", chart.series[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace pando::bench
