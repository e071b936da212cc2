#include "cli/eval_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/errors.h"
#include "bench/svg.h"

namespace pando::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double k95Percent = 1.96;   // standard errors on each side of a mean
constexpr size_t kLongestGroup = 40;  // characters that are shown

std::string score_name(const EvaluatedScore& score) {
  const std::string metric = one_line(score.metric);
  return score.statistic == "mean" ? metric : fmt::format("{}, {}", metric, score.statistic);
}

std::string group_name(const EvaluatedScore& score) {
  const std::string name = one_line(score.group);
  if (name.size() <= kLongestGroup) return name;
  size_t end = kLongestGroup;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end) + "...";
}

// Bytes of UTF-8 that begin a character.
size_t n_characters(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

using Row = std::array<std::string, 5>;

std::string padded(const std::string& cell, size_t width, bool to_the_right) {
  const std::string space(width - n_characters(cell), ' ');
  return to_the_right ? space + cell : cell + space;
}

std::string percent(double share) { return fmt::format("{:.2f}%", 100 * share); }

}  // namespace

std::string eval_table(const Evaluation& evaluation) {
  if (evaluation.scores.empty()) return {};
  const bool has_groups = std::ranges::any_of(
      evaluation.scores, [](const EvaluatedScore& score) { return !score.group.empty(); });
  std::vector<Row> rows = {{"score", "group", "questions", "mean", "standard error"}};
  for (const EvaluatedScore& score : evaluation.scores)
    rows.push_back({score_name(score), score.group.empty() ? "all" : group_name(score),
                    fmt::format("{}", score.questions), percent(score.value),
                    score.questions > 1 ? percent(score.standard_error) : "-"});
  std::array<size_t, 5> widths{};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], n_characters(row[i]));
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      if (i != 1 || has_groups)
        line += (line.empty() ? "" : "  ") + padded(row[i], widths[i], /*to_the_right=*/i > 1);
    text += line + "\n";
  }
  return text;
}

std::string eval_json(const Evaluation& evaluation) {
  OrderedJson json = {{"lines", evaluation.lines},
                      {"bad_lines", evaluation.bad_lines},
                      {"answers", evaluation.answers},
                      {"questions", evaluation.questions},
                      {"without_reference", evaluation.without_reference},
                      {"scores", OrderedJson::array()}};
  for (const EvaluatedScore& score : evaluation.scores) {
    OrderedJson one = {{"metric", score.metric}, {"statistic", score.statistic}};
    if (!score.group.empty()) one["group"] = score.group;
    one["questions"] = score.questions;
    one["value"] = score.value;
    one["standard_error"] = score.standard_error;
    json["scores"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string eval_svg(const Evaluation& evaluation, const std::string& title) {
  constexpr double kTop = 52, kRow = 22, kBar = 14, kDrawn = 400, kValue = 130, kLetter = 6.5;
  std::vector<std::string> names, metrics;
  size_t longest = 0;
  for (const EvaluatedScore& score : evaluation.scores) {
    const std::string group = score.group.empty() ? "" : fmt::format(" ({})", group_name(score));
    names.push_back(score_name(score) + group);
    longest = std::max(longest, n_characters(names.back()));
    if (std::ranges::find(metrics, score.metric) == metrics.end()) metrics.push_back(score.metric);
  }
  const double left = 20 + kLetter * static_cast<double>(longest);
  const double bottom = kTop + kRow * static_cast<double>(names.size());
  const auto x_of = [&](double value) { return left + std::clamp(value, 0.0, 1.0) * kDrawn; };
  const double for_title = 16 + kLetter * static_cast<double>(n_characters(title));
  std::string svg = bench::svg_sheet(std::max(left + kDrawn + kValue, for_title), bottom + 12);
  svg += bench::text_at(8, 20, "start", title);
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const double x = x_of(0.1 * tenth);
    svg += fmt::format("<path d=\"M{0:.1f} {1} V{2:.1f}\" stroke=\"#cccccc\"/>\n", x, kTop - 4,
                       bottom);
    svg += bench::text_at(x, kTop - 8, "middle", fmt::format("{}%", 10 * tenth));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const EvaluatedScore& score = evaluation.scores[i];
    const double y = kTop + kRow * static_cast<double>(i), middle = y + kBar / 2;
    const auto metric = std::ranges::find(metrics, score.metric) - metrics.begin();
    const double error = k95Percent * score.standard_error;
    svg += bench::text_at(left - 6, middle + 4, "end", names[i]);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n", left, y,
        x_of(score.value) - left, kBar,
        bench::kColors[static_cast<size_t>(metric) % bench::kColors.size()]);
    if (error > 0)
      svg += fmt::format(
          "<path d=\"M{0:.1f} {2:.1f} H{1:.1f} M{0:.1f} {3:.1f} v8 M{1:.1f} {3:.1f} v8\" "
          "stroke=\"black\"/>\n",
          x_of(score.value - error), x_of(score.value + error), middle, middle - 4);
    const std::string interval = error > 0 ? fmt::format(" ± {:.2f}", 100 * error) : "";
    svg += bench::text_at(x_of(score.value + error) + 6, middle + 4, "start",
                          fmt::format("{:.2f}%{}", 100 * score.value, interval));
  }
  return svg + "</svg>\n";
}

}  // namespace pando::cli
