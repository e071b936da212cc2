#include "text/byte_level.h"

#include <array>

#include "text/utf8.h"

namespace pando {
namespace {

constexpr int kBytes = 256;
constexpr char32_t kPoints = 0x144;  // the highest character used is U+0143

struct Alphabet {
  std::array<std::string, kBytes> characters;
  std::array<int, kPoints> bytes;

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < kBytes; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const char32_t point = printable ? byte : next++;
      append_utf8(point, &characters[byte]);
      bytes[point] = static_cast<int>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

const std::string& byte_level_character(unsigned char byte) { return alphabet().characters[byte]; }

std::optional<std::string> from_byte_level(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (step.kind != Utf8Kind::kCharacter || step.point >= kPoints) return std::nullopt;
    const int byte = alphabet().bytes[step.point];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    text.remove_prefix(step.length);
  }
  return bytes;
}

}  // namespace pando
