#include "bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace pando::bench {
namespace {

// Columns that people see, not bytes.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted;
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return fmt::format("\"{}\"", quoted);
}

}  // namespace

std::string number(double value) {
  if (!std::isfinite(value)) return std::string(1, 'x');
  const double size = std::abs(value);
  if (size >= 1e7 || (size > 0 && size < 0.01)) return fmt::format("{:.3g}", value);
  const int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string to_markdown(const Table& table) {
  std::vector<size_t> widths;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    widths.push_back(width(table.columns[column]));
    for (const auto& row : table.rows)
      widths[column] = std::max(widths[column], width(row[column]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i)
      text += fmt::format("| {}{} ", cells[i], std::string(widths[i] - width(cells[i]), ' '));
    return fmt::format("{}|\n", text);
  };
  std::string text = fmt::format("{}\n\n{}|", table.title, line(table.columns));
  for (const size_t w : widths) text += std::string(w + 2, '-') + "|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  for (const std::string& note : table.notes) text += fmt::format("\n{}\n", note);
  return text;
}

std::string to_csv(const Table& table) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ",", csv_cell(cells[i]));
    text += "\n";
  };
  std::map<std::string, int> n_named;
  std::vector<std::string> names;
  for (const std::string& column : table.columns) {
    const int n = ++n_named[column];
    names.push_back(n == 1 ? column : fmt::format("{} ({})", column, n));
  }
  line(names);
  for (const auto& row : table.rows) line(row);
  return text;
}

}  // namespace pando::bench
