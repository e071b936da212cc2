#include "bench/bars.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "bench/svg.h"

namespace pando::bench {
namespace {

constexpr double kBarsTop = 34, kBar = 12, kGap = 6, kDrawn = 400, kValue = 60;
constexpr double kLetter = 6.5;  // wide, on the mean

struct Drawn {
  std::string name;
  std::vector<std::optional<double>> values;  // [rows]
};

std::optional<double> number_in(const std::string& cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

std::vector<Drawn> drawn_columns(const Table& table, const Bars& bars) {
  std::vector<Drawn> all;
  for (const std::string& name : bars.columns) {
    const auto column = std::ranges::find(table.columns, name) - table.columns.begin();
    Drawn drawn{.name = name};
    for (const std::vector<std::string>& row : table.rows)
      drawn.values.push_back(number_in(row.at(static_cast<size_t>(column))));
    all.push_back(std::move(drawn));
  }
  return all;
}

}  // namespace

std::string to_svg(const Table& table, const Bars& bars) {
  const std::vector<Drawn> drawn = drawn_columns(table, bars);
  double low = 0, high = 0;
  bool has_values = false;
  for (const Drawn& column : drawn)
    for (const std::optional<double>& value : column.values) {
      if (!value) continue;
      has_values = true;
      low = std::min(low, *value);
      high = std::max(high, *value);
    }
  if (!has_values) return {};
  if (low == high) high = 1;  // all are zero

  std::vector<std::string> names;
  size_t longest = 0;
  for (const std::vector<std::string>& row : table.rows) {
    names.push_back(fmt::format("{}", fmt::join(std::span(row).first(bars.n_names), ", ")));
    longest = std::max(longest, names.back().size());
  }
  const double left = 20 + kLetter * static_cast<double>(longest);
  const double row_height = kBar * static_cast<double>(drawn.size()) + kGap;
  const double legend = 18 * static_cast<double>(drawn.size());
  const double top = kBarsTop + legend;
  const auto x_of = [&](double value) { return left + (value - low) / (high - low) * kDrawn; };
  const double for_title = 16 + kLetter * static_cast<double>(table.title.size());
  std::string svg = svg_sheet(std::max(left + kDrawn + kValue, for_title),
                              top + row_height * static_cast<double>(names.size()) + kGap);
  svg += text_at(8, 20, "start", table.title);
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double y = kBarsTop + 18 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"10\" fill=\"{}\"/>\n",
                       left, y, kColors[i % kColors.size()]);
    svg += text_at(left + 18, y + 9, "start", drawn[i].name);
  }
  for (size_t row = 0; row < names.size(); ++row) {
    const double y = top + row_height * static_cast<double>(row);
    svg += text_at(left - 6, y + (row_height - kGap) / 2 + 4, "end", names[row]);
    for (size_t i = 0; i < drawn.size(); ++i) {
      const std::optional<double> value = drawn[i].values[row];
      if (!value) continue;
      const double bar_y = y + kBar * static_cast<double>(i), zero = x_of(0), x = x_of(*value);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
          std::min(zero, x), bar_y, std::abs(x - zero), kBar - 2, kColors[i % kColors.size()]);
      svg += text_at(std::max(zero, x) + 4, bar_y + kBar - 3, "start", number(*value));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace pando::bench
