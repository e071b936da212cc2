// Random strings of all kinds of Unicode, the same here and in tools/tokenizer_golden.py: every
// choice is splitmix64 of (seed, string, n-th draw). Change both together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace pando::testing {

inline uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// FNV-1a over ids as little-endian u32, each list after its length.
class IdHash {
 public:
  void add(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash_ = (hash_ ^ (value >> shift & 0xFF)) * 0x100000001B3u;
    }
  }
  void add(const std::vector<Token>& tokens) {
    add(static_cast<uint32_t>(tokens.size()));
    for (Token token : tokens) add(static_cast<uint32_t>(token));
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325u;
};

struct PointRange {
  char32_t first;
  char32_t last;
};

class UnicodeStrings {
 public:
  // `assigned`: code points that may be drawn, as lines of "first last" in hexadecimal.
  explicit UnicodeStrings(const std::string& assigned) {
    std::ifstream file(assigned);
    uint32_t first = 0, last = 0;
    while (file >> std::hex >> first >> last) {
      assigned_.push_back({first, last});
      n_assigned_ += last - first + 1;
    }
  }
  bool empty() const { return assigned_.empty(); }

  std::string string(uint64_t index) {
    base_ = splitmix64(index ^ kSeed);
    draws_ = 0;
    std::string text;
    const uint64_t n_pieces = 1 + draw(24);
    for (uint64_t i = 0; i < n_pieces; ++i) append_piece(&text);
    return text;
  }

 private:
  static constexpr uint64_t kSeed = 0x50414E444F;

  uint64_t draw(uint64_t below) { return splitmix64(base_ + draws_++) % below; }
  char32_t assigned(uint64_t n) const {
    for (const PointRange& range : assigned_) {
      const uint64_t size = range.last - range.first + 1;
      if (n < size) return range.first + static_cast<char32_t>(n);
      n -= size;
    }
    return 'x';
  }
  bool is_assigned(char32_t point) const {
    const auto after = std::upper_bound(
        assigned_.begin(), assigned_.end(), point,
        [](char32_t value, const PointRange& range) { return value < range.first; });
    return after != assigned_.begin() && point <= std::prev(after)->last;
  }

  // 1 to `most` characters of a range; unassigned ones are left out.
  void append_run(PointRange range, uint64_t most, std::string* text) {
    const uint64_t n = 1 + draw(most);
    for (uint64_t i = 0; i < n; ++i) {
      const char32_t point =
          range.first + static_cast<char32_t>(draw(range.last - range.first + 1));
      if (is_assigned(point)) append_utf8(point, text);
    }
  }
  template <size_t N>
  void append_some(const std::array<char32_t, N>& points, uint64_t most, std::string* text) {
    const uint64_t n = 1 + draw(most);
    for (uint64_t i = 0; i < n; ++i) append_utf8(points[draw(N)], text);
  }

  void append_piece(std::string* text) {
    static constexpr std::array<char32_t, 22> kSpaces = {
        ' ',  ' ',  ' ',    ' ',    '\n',   '\r',   '\t',   0x0B,   0x0C,   0x1C,   0x1F,
        0x85, 0xA0, 0x1680, 0x180E, 0x2003, 0x200B, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    static constexpr std::array<char32_t, 24> kPunctuation = {
        '.', ',', '!', '?',  '-', '_', '"', '(', ')',    '[',    ']',    '{',
        '}', '<', '>', '\'', '/', '*', '#', '&', 0x2019, 0x2014, 0x3002, 0xFF0C};
    static constexpr std::array<char32_t, 16> kEmoji = {
        0x1F600, 0x1F44D, 0x1F3FD, 0x200D, 0xFE0F,  0x1F468, 0x1F469, 0x1F467,
        0x1F1E9, 0x1F1EA, 0x2764,  0x2705, 0x1F999, 0x1F680, 0x20E3,  0x1F3F4};
    static constexpr std::array<PointRange, 22> kScripts = {
        {{0xC0, 0x24F},    {0x250, 0x2FF},    {0x370, 0x3FF},   {0x400, 0x52F},   {0x531, 0x58A},
         {0x591, 0x5F4},   {0x600, 0x6FF},    {0x900, 0x97F},   {0x980, 0x9FE},   {0xB82, 0xBFA},
         {0xE01, 0xE5B},   {0xF00, 0xFDA},    {0x1000, 0x109F}, {0x10A0, 0x10FF}, {0x1100, 0x11FF},
         {0x1E00, 0x1FFE}, {0x2100, 0x218B},  {0x3041, 0x30FF}, {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3},
         {0xF900, 0xFAD9}, {0x20000, 0x2A6DF}}};
    static constexpr std::array<std::string_view, 16> kApostrophes = {
        "'s", "'t",   "'re", "'ve",     "'m",       "'ll", "'d",  "'S",
        "'T", "'RE ", "'Ve", "'\u017F", "\u2019s ", "'lL", "'M ", "''"};
    static constexpr std::array<std::string_view, 8> kWritten = {
        "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>",
        "<|eot_id|>",    "<|",           "|>",         "<|end_of_text|>"};
    switch (draw(16)) {
      case 0:
      case 1:
        return append_run({'a', 'z'}, 9, text);
      case 2:
        return append_run({'A', 'z'}, 5, text);
      case 3:
        return append_run({'0', '9'}, 7, text);
      case 4:
      case 5:
        return append_some(kSpaces, 3, text);
      case 6:
        return append_some(kSpaces, 12, text);
      case 7:
        *text += kApostrophes[draw(kApostrophes.size())];
        return;
      case 8:
        return append_some(kPunctuation, 4, text);
      case 9:
        return append_some(kEmoji, 5, text);
      case 10:
        return append_run({0x300, 0x36F}, 4, text);
      case 11:
        return append_run({0, 0x9F}, 3, text);
      case 12:
      case 13:
        return append_run(kScripts[draw(kScripts.size())], 6, text);
      case 14:
        return append_utf8(assigned(draw(n_assigned_)), text);
      default:
        *text += kWritten[draw(kWritten.size())];
        return;
    }
  }

  std::vector<PointRange> assigned_;  // ascending
  uint64_t n_assigned_ = 0;
  uint64_t base_ = 0;
  uint64_t draws_ = 0;
};

}  // namespace pando::testing
