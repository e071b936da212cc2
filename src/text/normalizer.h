// Rewrites text before it is cut into words.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/character_map.h"
#include "text/split_pattern.h"
#include "text/unicode_forms.h"

namespace pando {

namespace normal {
struct Lowercase {};
struct StripAccents {};  // drops all marks
struct Strip {           // White_Space at the ends
  bool left = true;
  bool right = true;
};
struct Prepend {  // unless the text is empty
  std::string text;
};
struct Replace {     // every occurrence, from the left
  std::string from;  // not empty
  std::string to;
};
struct ReplaceMatches {
  SplitPattern pattern;
  std::string to;
};
struct MapCharacters {
  std::shared_ptr<const CharacterMap> map;
  bool longest = false;  // as SentencePiece does it, not `tokenizers`
};
// Drops control characters. Line ends, marks of direction and the like become spaces.
struct Nmt {};
// Removes spaces at the ends, and all but one of several spaces side by side. `mark`, unless it is
// empty, counts as a space at the end.
struct FewerSpaces {
  std::string mark;
};
struct Bert {
  bool clean = true;       // without control characters, every White_Space as a space
  bool ideographs = true;  // a space on both sides of each
  bool strip_accents = true;
  bool lowercase = true;
};
}  // namespace normal

using NormalStep =
    std::variant<UnicodeForm, normal::Lowercase, normal::StripAccents, normal::Strip,
                 normal::Prepend, normal::Replace, normal::ReplaceMatches, normal::MapCharacters,
                 normal::Nmt, normal::FewerSpaces, normal::Bert>;

// Steps in order. Immutable; any thread.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalStep> steps) : steps_(std::move(steps)) {}

  bool empty() const { return steps_.empty(); }
  // kUnsupported if a step makes more of the text than most_text() allows. `continues`: the text
  // goes on from another, so nothing is put in front.
  Result<std::string> apply(std::string_view text, bool continues = false) const;
  std::span<const NormalStep> steps() const { return steps_; }

 private:
  std::vector<NormalStep> steps_;
};

// Steps of a file can double a text each. Bytes that `size` bytes may become: the forms of Unicode
// need 11 times.
constexpr size_t most_text(size_t size) { return 16 * size + 256; }

std::string replace_all(std::string_view text, std::string_view from, std::string_view to);
// Returns the same, or nothing if that is more than `most` bytes.
std::optional<std::string> replace_all_within(size_t most, std::string_view text,
                                              std::string_view from, std::string_view to);

}  // namespace pando
