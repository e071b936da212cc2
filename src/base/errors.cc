#include "base/errors.h"

#include <algorithm>
#include <string_view>

namespace pando {
namespace {

// Bytes of the character that `text` begins with; 0 if that is none, or one that controls a
// terminal.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? text[i] & 0xFF : 0; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const int lead = byte(0), second = byte(1);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
  if (lead == 0xC2 && second < 0xA0) return 0;
  if (lead < 0xE0) return 2;
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || !continues(2)) return 0;
  if (lead < 0xF0) return 3;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F) || !continues(3)) return 0;
  return 4;
}

}  // namespace

std::string one_of_these(std::span<const std::string_view> names) {
  if (names.size() == 1) return std::string(names[0]);
  return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

std::string one_line(std::string_view text) {
  constexpr size_t kBegin = 700, kEnd = 200;
  std::string line;
  bool cut = false;
  for (size_t at = 0; at < text.size();) {
    if (!cut && line.size() >= kBegin && text.size() - at > 2 * kEnd) {
      cut = true;
      line += "...";
      at = text.size() - kEnd;
      while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;  // not inside a character
    }
    const size_t n = character_length(text.substr(at));
    if (n > 0) {
      line += text.substr(at, n);
    } else if ((text[at] & 0x80) == 0) {
      line += text[at] == '\n' ? "\\n" : fmt::format("\\x{:02x}", text[at]);
    } else {
      line += "\uFFFD";
    }
    at += std::max<size_t>(n, 1);
  }
  return line;
}

}  // namespace pando
