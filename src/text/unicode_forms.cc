#include "text/unicode_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "text/utf8.h"

namespace pando {
namespace {

bool is_compatible(UnicodeForm form) {
  return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
}

bool is_composed(UnicodeForm form) {
  return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
}

// NFC keeps characters below U+0300 (CC 80); every form keeps those below U+0080.
bool surely_unchanged(std::string_view text, UnicodeForm form) {
  const unsigned char limit = form == UnicodeForm::kNfc ? 0xCC : 0x80;
  return std::none_of(text.begin(), text.end(),
                      [&](char c) { return static_cast<unsigned char>(c) >= limit; });
}

int combining_class(int32_t point) { return utf8proc_get_property(point)->combining_class; }

void append_decomposed(char32_t point, UnicodeForm form, std::vector<int32_t>* points) {
  if (point < 0xA0) {
    points->push_back(static_cast<int32_t>(point));
    return;
  }
  constexpr int kMost = 32;  // decompositions have at most 18 characters
  int32_t parts[kMost];
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE |
                                                      (is_compatible(form) ? UTF8PROC_COMPAT : 0));
  const auto n =
      utf8proc_decompose_char(static_cast<int32_t>(point), parts, kMost, options, nullptr);
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

// utf8proc joins U+11A7, which is no trailing consonant, to the syllable before it and so loses it.
// It composes with nothing, so the texts before and after it are composed apart.
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

}  // namespace

std::string to_unicode_form(std::string_view text, UnicodeForm form) {
  if (surely_unchanged(text, form)) return std::string(text);
  std::vector<int32_t> points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text.substr(at));
    append_decomposed(step.point, form, &points);
    at += step.length;
  }
  order_marks(&points);
  if (is_composed(form)) return composed(std::move(points));
  std::string out;
  for (int32_t point : points) append_utf8(static_cast<char32_t>(point), &out);
  return out;
}

}  // namespace pando
