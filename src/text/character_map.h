// The character map of a SentencePiece model: texts of a few bytes, each with the text that it
// becomes. In a tokenizer.json it is the normalizer Precompiled.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pando {

// Whether `bytes` are a character map that never leads outside itself and gives UTF-8 alone.
bool is_character_map(std::string_view bytes);

// Immutable; any thread.
class CharacterMap {
 public:
  // `bytes` are a character map.
  explicit CharacterMap(std::string bytes) : bytes_(std::move(bytes)) {}

  // What the shortest text of the map that `text` begins with becomes.
  std::optional<std::string_view> find(std::string_view text) const;

  // `text` in the way of the library `tokenizers`: a short cluster of characters (a grapheme) that
  // begins with a text of the map becomes that text's alone, and of others each character is looked
  // up. Nothing where that is more than `most` bytes.
  std::optional<std::string> apply(std::string_view text, size_t most) const;

 private:
  std::string bytes_;
};

}  // namespace pando
