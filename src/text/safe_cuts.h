// Safe cuts divide a text into parts that can be encoded one by one.
//
// A cut lies between an ASCII letter and the space after it, or between a Chinese character and the
// comma or full stop (U+FF0C, U+3002) after it. Let A be the text before a cut and B the text from
// it on. The cut is safe if encode(A + B) = encode(A) + encode(B), where B is encoded as the rest
// of A's section. That holds for every A and B if
//   1. no added token has the two characters side by side or ends with the first of them, so that
//      none lies over the cut, takes the spaces of B from A, or ends at the cut; and none that
//      needs a place between words begins with the second;
//   2. each step of the normalizer makes of A + B what it makes of A and of B, without what it puts
//      in front of a section, and the two characters stay such a pair;
//   3. each step of the pre-tokenizer makes of A + B the words of A and of B, but that the last
//      word of A and the first of B may be one;
//   4. such a word is cut there by a later step, or the model joins nothing over the cut.
// Expressions are known by their text. If one is not known, no cut is safe.
#pragma once

#include <bitset>
#include <span>
#include <string_view>

#include "text/added_tokens.h"

namespace pando {

struct TokenizerParts;

// Immutable; any thread.
class SafeCuts {
 public:
  // A cut depends on the text before it and on so many bytes after it.
  static constexpr size_t kLookAhead = 3;

  SafeCuts() = default;  // none
  // The added tokens as they are looked for: in the text as it is, and in the normalised one.
  SafeCuts(const TokenizerParts& parts, std::span<const AddedToken> as_written,
           std::span<const AddedToken> as_normalised);

  bool any() const { return letters_.any() || after_ideographs_; }
  // The first cut of `text`, which is UTF-8, at or after `from`; the text's end if there is none.
  size_t next(std::string_view text, size_t from) const;

 private:
  std::bitset<128> letters_;       // that a space may be cut from
  bool after_ideographs_ = false;  // a comma or a full stop may be
};

}  // namespace pando
