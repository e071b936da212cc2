#include "text/utf8.h"

#include <cstdint>
#include <cstring>

namespace pando {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;

// Properties of a lead byte: length of the character in bytes, and range of the second byte. Later
// bytes are always 80..BF.
struct Lead {
  int length = 0;  // 0: no character begins so
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};  // overlong below
  if (byte == 0xED) return {3, 0x80, 0x9F};  // surrogates above
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};  // overlong below
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // above U+10FFFF
  return {};
}

}  // namespace

Utf8Step next_utf8(std::string_view text) {
  const auto byte = [&](int i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {Utf8Kind::kCharacter, 1, byte(0)};
  Lead lead = lead_of(byte(0));
  if (lead.length == 0) return {Utf8Kind::kInvalid, 1, 0};
  char32_t point = byte(0) & (0x7F >> lead.length);
  for (int i = 1; i < lead.length; ++i) {
    if (static_cast<size_t>(i) == text.size()) return {Utf8Kind::kTruncated, i, 0};
    if (byte(i) < lead.low || byte(i) > lead.high) return {Utf8Kind::kInvalid, i, 0};
    lead.low = 0x80, lead.high = 0xBF;
    point = point << 6 | (byte(i) & 0x3F);
  }
  return {Utf8Kind::kCharacter, lead.length, point};
}

void append_utf8(char32_t point, std::string* out) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    *out += static_cast<char>(point);
  } else if (point < 0x800) {
    *out += {static_cast<char>(0xC0 | point >> 6), tail(0)};
  } else if (point < 0x10000) {
    *out += {static_cast<char>(0xE0 | point >> 12), tail(6), tail(0)};
  } else {
    *out += {static_cast<char>(0xF0 | point >> 18), tail(12), tail(6), tail(0)};
  }
}

void take_characters(std::string* bytes, std::string* text) {
  std::string_view rest = *bytes;
  while (!rest.empty()) {
    const Utf8Step step = next_utf8(rest);
    if (step.kind == Utf8Kind::kTruncated) break;
    *text +=
        step.kind == Utf8Kind::kCharacter ? rest.substr(0, step.length) : kReplacementCharacter;
    rest.remove_prefix(step.length);
  }
  bytes->erase(0, bytes->size() - rest.size());
}

std::string_view last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
  return text.substr(begin);
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t word = 0;
    while (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if (word & kHighBits) break;
      at += sizeof word;
    }
    if (at == text.size()) break;
    const Utf8Step step = next_utf8(text.substr(at));
    if (step.kind != Utf8Kind::kCharacter) return at;
    at += step.length;
  }
  return std::nullopt;
}

}  // namespace pando
