// Sets of Unicode characters, as ranges.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace pando::grammar {

inline constexpr char32_t kLastChar = 0x10FFFF;

struct CharRange {
  char32_t first;
  char32_t last;  // included
  auto operator<=>(const CharRange&) const = default;
};

// Immutable; ranges ascend and do not touch. Surrogates are no characters and in no set.
class CharSet {
 public:
  CharSet() = default;
  explicit CharSet(std::vector<CharRange> ranges);  // in any order, may overlap
  static CharSet all();
  static CharSet one(char32_t c) { return CharSet({{c, c}}); }

  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool is_empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;
  CharSet complement() const;
  CharSet with(const CharSet& other) const;  // union
  CharSet both(const CharSet& other) const;  // intersection
  CharSet without(const CharSet& other) const { return both(other.complement()); }
  CharSet any_case() const;  // with the other case of each ASCII letter in it
  auto operator<=>(const CharSet&) const = default;

 private:
  std::vector<CharRange> ranges_;
};

// The characters of a text that is UTF-8.
std::u32string characters_of(std::string_view text);

}  // namespace pando::grammar
