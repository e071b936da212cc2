#include "text/character_map.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "text/characters.h"
#include "text/utf8.h"

namespace pando {
namespace {

// The size of a trie in bytes, the trie, and texts that end with a zero. The trie is a double
// array: from base b the byte c leads to unit b ^ c, whose label is c.
class MapBytes {
 public:
  explicit MapBytes(std::string_view bytes) : bytes_(bytes) {}

  bool is_sound() const {
    if (bytes_.size() < sizeof(uint32_t)) return false;
    const size_t trie_bytes = word(0);
    if (trie_bytes % sizeof(uint32_t) != 0 || trie_bytes >= bytes_.size() - sizeof(uint32_t))
      return false;
    const size_t n_units = trie_bytes / sizeof(uint32_t);
    if (n_units == 0 || bytes_.back() != '\0' || find_invalid_utf8(texts())) return false;

    std::vector<bool> seen(n_units);
    std::vector<size_t> bases;
    const auto add_base = [&](size_t at) {
      const size_t base = at ^ offset(unit(at));
      if ((base | 0xFF) >= n_units) return false;
      if (!seen[base]) bases.push_back(base);
      seen[base] = true;
      return true;
    };
    if (!add_base(0)) return false;
    while (!bases.empty()) {
      const size_t base = bases.back();
      bases.pop_back();
      for (size_t byte = 0; byte < 256; ++byte) {
        const size_t at = base ^ byte;
        if (label(unit(at)) != byte) continue;
        if (!add_base(at)) return false;
        if (has_text(unit(at)) && !begins_text(text_of(at))) return false;
      }
    }
    return true;
  }

  std::optional<CharacterMap::Found> find(std::string_view text, bool longest) const {
    std::optional<CharacterMap::Found> found;
    size_t base = offset(unit(0));
    for (size_t i = 0; i < text.size() && (longest || !found); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      const size_t at = base ^ byte;
      if (byte == 0 || label(unit(at)) != byte) break;
      // The longest is taken out of a text, so it may not end within a character.
      const bool whole = !longest || i + 1 == text.size() || begins_character(text[i + 1]);
      if (has_text(unit(at)) && whole) {
        const std::string_view from = texts().substr(text_of(at));
        found = CharacterMap::Found{from.substr(0, from.find('\0')), i + 1};
      }
      base = at ^ offset(unit(at));
    }
    return found;
  }

 private:
  uint32_t word(size_t index) const {
    uint32_t value;
    std::memcpy(&value, bytes_.data() + index * sizeof value, sizeof value);
    return value;
  }
  uint32_t unit(size_t at) const { return word(1 + at); }
  std::string_view texts() const { return bytes_.substr(sizeof(uint32_t) + word(0)); }

  static size_t offset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << (unit >> 6 & 8); }
  static size_t label(uint32_t unit) { return unit & 0x8000'00FFu; }
  static bool has_text(uint32_t unit) { return (unit >> 8 & 1) != 0; }
  // Offset of the text of the unit `at`, which has one.
  size_t text_of(size_t at) const { return unit(at ^ offset(unit(at))) & 0x7FFF'FFFFu; }
  bool begins_text(size_t at) const { return at < texts().size() && begins_character(texts()[at]); }

  std::string_view bytes_;
};

}  // namespace

bool is_character_map(std::string_view bytes) { return MapBytes(bytes).is_sound(); }

std::optional<CharacterMap::Found> CharacterMap::find(std::string_view text, bool longest) const {
  return MapBytes(bytes_).find(text, longest);
}

std::optional<std::string> CharacterMap::apply_longest(std::string_view text, size_t most) const {
  std::string out;
  while (!text.empty()) {
    if (const auto found = find(text, /*longest=*/true)) {
      out += found->replacement;
      text.remove_prefix(found->length);
    } else {
      const size_t length = utf8_length(text[0]);
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
    if (out.size() > most) return std::nullopt;
  }
  return out;
}

std::optional<std::string> CharacterMap::apply(std::string_view text, size_t most) const {
  constexpr size_t kShort = 6;  // bytes: only shorter clusters are looked up as a whole
  std::string out;
  while (!text.empty()) {
    const std::string_view cluster = text.substr(0, cluster_length(text));
    text.remove_prefix(cluster.size());
    const auto whole = cluster.size() < kShort ? find(cluster) : std::nullopt;
    if (whole) out += whole->replacement;
    for (size_t at = 0; !whole && at < cluster.size();) {
      const std::string_view character = cluster.substr(at, utf8_length(cluster[at]));
      const auto found = find(character);
      out += found ? found->replacement : character;
      at += character.size();
      if (out.size() > most) break;
    }
    if (out.size() > most) return std::nullopt;
  }
  return out;
}

}  // namespace pando
