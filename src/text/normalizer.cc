#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "text/utf8.h"

namespace pando {
namespace {

// True where all characters are below U+0300, which is CC 80: NFC leaves those alone.
bool surely_nfc(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0xCC; });
}

int combining_class(int32_t point) { return utf8proc_get_property(point)->combining_class; }

void append_decomposed(char32_t point, std::vector<int32_t>* points) {
  if (point < 0xC0) {
    points->push_back(static_cast<int32_t>(point));
    return;
  }
  constexpr int kMost = 16;  // canonical decompositions have at most 4 characters
  int32_t parts[kMost];
  const auto n = utf8proc_decompose_char(static_cast<int32_t>(point), parts, kMost,
                                         UTF8PROC_DECOMPOSE, nullptr);
  PANDO_CHECK(n > 0 && n <= kMost);
  points->insert(points->end(), parts, parts + n);
}

// Canonical order: marks between two starters by their class. utf8proc's own sort is quadratic.
void order_marks(std::vector<int32_t>* points) {
  const auto is_mark = [](int32_t point) { return point >= 0x300 && combining_class(point) != 0; };
  for (auto at = points->begin(); at != points->end();) {
    at = std::find_if(at, points->end(), is_mark);
    const auto end = std::find_if_not(at, points->end(), is_mark);
    std::stable_sort(at, end,
                     [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); });
    at = end;
  }
}

// utf8proc joins U+11A7, which is no trailing consonant, to the syllable before it and so loses
// it. It composes with nothing, so what is before and after it is composed apart.
constexpr int32_t kBeforeTrailing = 0x11A7;

std::string composed(std::vector<int32_t> points) {
  std::string out;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  for (auto at = points.begin(); at != points.end();) {
    const auto end = std::find(at, points.end(), kBeforeTrailing);
    const auto n = utf8proc_normalize_utf32(std::to_address(at), end - at, options);
    PANDO_CHECK(n >= 0);
    for (auto point = at; point != at + n; ++point) {
      append_utf8(static_cast<char32_t>(*point), &out);
    }
    at = end;
    if (at != points.end()) append_utf8(static_cast<char32_t>(*at++), &out);
  }
  return out;
}

struct Apply {
  std::string_view text;
  std::string operator()(const normal::Nfc&) const { return to_nfc(text); }
  std::string operator()(const normal::Prepend& step) const {
    return text.empty() ? std::string() : step.text + std::string(text);
  }
  std::string operator()(const normal::Replace& step) const {
    return replace_all(text, step.from, step.to);
  }
};

}  // namespace

std::string to_nfc(std::string_view text) {
  if (surely_nfc(text)) return std::string(text);
  std::vector<int32_t> points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text.substr(at));
    append_decomposed(step.point, &points);
    at += step.length;
  }
  order_marks(&points);
  return composed(std::move(points));
}

std::string Normalizer::apply(std::string_view text) const {
  std::string out(text);
  for (const NormalStep& step : steps_) out = std::visit(Apply{out}, step);
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == text.npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

}  // namespace pando
