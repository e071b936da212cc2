// The character map of a SentencePiece model: texts of a few bytes, each with its replacement. In a
// tokenizer.json it is the normalizer Precompiled.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pando {

// True if `bytes` are a character map that never leads outside itself and whose replacements are
// UTF-8.
bool is_character_map(std::string_view bytes);

// Immutable; any thread.
class CharacterMap {
 public:
  // `bytes` are a character map.
  explicit CharacterMap(std::string bytes) : bytes_(std::move(bytes)) {}

  struct Found {
    std::string_view replacement;
    size_t length;  // bytes of the text that it replaces
  };
  // The shortest or the longest text of the map that `text` begins with; nothing if there is none.
  std::optional<Found> find(std::string_view text, bool longest = false) const;

  // Replaces texts in `text` as the library `tokenizers` does. A short cluster of characters (a
  // grapheme) that begins with a text of the map becomes that text's replacement; the rest of the
  // cluster is lost. In other clusters, each character is looked up. Nothing if the result is
  // longer than `most` bytes.
  std::optional<std::string> apply(std::string_view text, size_t most) const;
  // Does the same as SentencePiece does: from the left, the longest text of the map.
  std::optional<std::string> apply_longest(std::string_view text, size_t most) const;

 private:
  std::string bytes_;
};

}  // namespace pando
