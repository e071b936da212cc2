#include "lab/papers/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/svg.h"
#include "lab/experiment.h"
#include "lab/techniques/bin_packing.h"

namespace pando::lab {

Packing pack(std::span<const uint32_t> lengths) {
  Packing packing;
  if (lengths.empty()) return packing;
  packing.capacity = std::ranges::max(lengths);
  for (const auto& prompts : first_fit_decreasing(lengths, packing.capacity)) {
    packing.bins.emplace_back();
    for (const uint32_t prompt : prompts) packing.bins.back().push_back(lengths[prompt]);
  }
  return packing;
}

std::string bin_line(std::span<const uint32_t> bin, uint32_t capacity, size_t width) {
  std::string line;
  uint64_t end = 0;
  for (size_t i = 0; i < bin.size(); ++i) {
    end += bin[i];
    line.resize(std::max(line.size(), end * width / capacity),
                "0123456789abcdefghijklmnopqrstuvwxyz"[i % 36]);
  }
  line.resize(width, '.');
  return line;
}

std::string to_svg(const Packing& packing, const std::string& title) {
  constexpr int kWidth = 760, kHeight = 22, kTop = 40, kLeft = 10;
  const int height = kTop + kHeight * static_cast<int>(packing.bins.size()) + 10;
  std::string svg = svg_sheet(kWidth + 2 * kLeft, height) + text_at(kLeft, 22, "start", title);
  const double scale = static_cast<double>(kWidth) / std::max(packing.capacity, 1u);
  const auto box = [&](double from, uint32_t length, size_t bin, const char* color) {
    const int y = kTop + kHeight * static_cast<int>(bin);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" "
        "stroke=\"white\"/>\n<text x=\"{:.1f}\" y=\"{}\" fill=\"white\">{}</text>\n",
        kLeft + from * scale, y, length * scale, kHeight - 3, color, kLeft + from * scale + 3,
        y + 14, length * scale > 24 ? std::to_string(length) : "");
  };
  size_t color = 0;
  for (size_t bin = 0; bin < packing.bins.size(); ++bin) {
    uint32_t at = 0;
    for (const uint32_t length : packing.bins[bin]) {
      box(at, length, bin, kColors[color++ % kColors.size()]);
      at += length;
    }
    if (at < packing.capacity) box(at, packing.capacity - at, bin, "#cccccc");
  }
  return svg + "</svg>\n";
}

double correlation(std::span<const std::pair<double, double>> pairs) {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  const auto n = static_cast<double>(pairs.size());
  for (const auto& [a, b] : pairs) {
    x += a / n;
    y += b / n;
  }
  for (const auto& [a, b] : pairs) {
    xx += (a - x) * (a - x);
    yy += (b - y) * (b - y);
    xy += (a - x) * (b - y);
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace pando::lab
