// Helpers that all drawings share.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>

namespace pando::bench {

constexpr std::array kColors = {"#1b6ca8", "#d1495b", "#3a7d44", "#8f5db7", "#e08e0b",
                                "#555555", "#17a2a2", "#a0522d", "#c71585", "#7a8b00"};

inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

// anchor: "start", "middle" or "end".
inline std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

// A white sheet, in points; "</svg>" ends it.
inline std::string svg_sheet(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
}

}  // namespace pando::bench
