#include "text/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/utf8.h"

namespace pando {
namespace {

utf8proc_category_t category(char32_t point) {
  return utf8proc_category(static_cast<int32_t>(point));
}

// Letters in circles and squares: symbols by category, and alphabetic.
bool is_enclosed_letter(char32_t point) {
  return (point >= 0x24B6 && point <= 0x24E9) || (point >= 0x1F130 && point <= 0x1F149) ||
         (point >= 0x1F150 && point <= 0x1F169) || (point >= 0x1F170 && point <= 0x1F189);
}

}  // namespace

bool is_space(char32_t point) {
  if (point <= 0x20) return point == 0x20 || (point >= 0x09 && point <= 0x0D);
  if (point == 0x85) return true;
  const auto kind = category(point);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL ||
         kind == UTF8PROC_CATEGORY_ZP;
}

bool is_word(char32_t point) {
  constexpr char32_t kNonJoiner = 0x200C;
  constexpr char32_t kJoiner = 0x200D;
  switch (category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return point == kNonJoiner || point == kJoiner || is_enclosed_letter(point);
  }
}

bool is_mark(char32_t point) {
  const auto kind = category(point);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC ||
         kind == UTF8PROC_CATEGORY_ME;
}

bool is_accent(char32_t point) { return category(point) == UTF8PROC_CATEGORY_MN; }

bool is_control(char32_t point) {
  const auto kind = category(point);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
         kind == UTF8PROC_CATEGORY_CO;
}

bool is_ideograph(char32_t point) {
  using Range = std::pair<char32_t, char32_t>;
  static constexpr std::array<Range, 8> kBlocks = {{{0x3400, 0x4DBF},
                                                    {0x4E00, 0x9FFF},
                                                    {0xF900, 0xFAFF},
                                                    {0x20000, 0x2A6DF},
                                                    {0x2A700, 0x2B73F},
                                                    {0x2B740, 0x2B81F},
                                                    {0x2B920, 0x2CEAF},
                                                    {0x2F800, 0x2FA1F}}};
  return std::any_of(kBlocks.begin(), kBlocks.end(), [&](const Range& block) {
    return point >= block.first && point <= block.second;
  });
}

size_t cluster_length(std::string_view text) {
  Utf8Step before = next_utf8(text);
  size_t length = before.length;
  utf8proc_int32_t state = 0;
  while (length < text.size()) {
    const Utf8Step next = next_utf8(text.substr(length));
    const bool plain = before.point >= 0x20 && before.point < 0x7F && next.point < 0x7F;
    if (plain || utf8proc_grapheme_break_stateful(static_cast<int32_t>(before.point),
                                                  static_cast<int32_t>(next.point), &state)) {
      break;
    }
    length += next.length;
    before = next;
  }
  return length;
}

Lower to_lower(char32_t point) {
  constexpr char32_t kDottedI = 0x130;
  if (point == kDottedI) return {'i', 0x307};
  return {static_cast<char32_t>(utf8proc_tolower(static_cast<int32_t>(point)))};
}

}  // namespace pando
