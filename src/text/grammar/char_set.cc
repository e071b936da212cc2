#include "text/grammar/char_set.h"

#include <algorithm>

#include "text/utf8.h"

namespace pando::grammar {

namespace {

constexpr CharRange kSurrogates{0xD800, 0xDFFF};

std::vector<CharRange> merged(std::vector<CharRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CharRange& a, const CharRange& b) { return a.first < b.first; });
  std::vector<CharRange> out;
  for (const CharRange& range : ranges) {
    if (range.first > range.last) continue;
    if (!out.empty() && range.first <= out.back().last + 1)
      out.back().last = std::max(out.back().last, range.last);
    else
      out.push_back(range);
  }
  return out;
}

// The characters of `ranges` without surrogates.
std::vector<CharRange> without_surrogates(const std::vector<CharRange>& ranges) {
  std::vector<CharRange> out;
  for (const CharRange& range : ranges) {
    if (range.last < kSurrogates.first || range.first > kSurrogates.last) {
      out.push_back(range);
      continue;
    }
    if (range.first < kSurrogates.first) out.push_back({range.first, kSurrogates.first - 1});
    if (range.last > kSurrogates.last) out.push_back({kSurrogates.last + 1, range.last});
  }
  return out;
}

}  // namespace

CharSet::CharSet(std::vector<CharRange> ranges)
    : ranges_(without_surrogates(merged(std::move(ranges)))) {}

CharSet CharSet::all() { return CharSet({{0, kLastChar}}); }

bool CharSet::contains(char32_t c) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), c,
                       [](char32_t value, const CharRange& range) { return value < range.first; });
  return after != ranges_.begin() && c <= std::prev(after)->last;
}

CharSet CharSet::complement() const {
  std::vector<CharRange> out;
  char32_t next = 0;
  for (const CharRange& range : ranges_) {
    if (range.first > next) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastChar) out.push_back({next, kLastChar});
  return CharSet(std::move(out));
}

CharSet CharSet::with(const CharSet& other) const {
  std::vector<CharRange> out = ranges_;
  out.insert(out.end(), other.ranges_.begin(), other.ranges_.end());
  return CharSet(std::move(out));
}

CharSet CharSet::both(const CharSet& other) const {
  std::vector<CharRange> out;
  for (size_t i = 0, j = 0; i < ranges_.size() && j < other.ranges_.size();) {
    const CharRange &a = ranges_[i], &b = other.ranges_[j];
    const CharRange common{std::max(a.first, b.first), std::min(a.last, b.last)};
    if (common.first <= common.last) out.push_back(common);
    ++(a.last < b.last ? i : j);
  }
  return CharSet(std::move(out));
}

CharSet CharSet::any_case() const {
  std::vector<CharRange> out = ranges_;
  for (const auto& [from, to] : {std::pair<char32_t, char32_t>{'a', 'A'}, {'A', 'a'}})
    for (const CharRange& range : both(CharSet({{from, from + 25}})).ranges_)
      out.push_back({range.first - from + to, range.last - from + to});
  return CharSet(std::move(out));
}

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    characters += step.kind == Utf8Kind::kCharacter ? step.point : U'\uFFFD';
    text.remove_prefix(static_cast<size_t>(step.length));
  }
  return characters;
}

}  // namespace pando::grammar
