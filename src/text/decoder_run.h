// Runs a decoder of tokenizer.json, in which a token may change the text of others, token by token.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/split_pattern.h"

namespace pando {

// Steps, as in the library `tokenizers`. Each reads a list of texts, at first those of the tokens,
// and writes a list for the next step.
namespace decoding {
struct ByteFallback {};   // adjacent texts such as "<0x0A>" become one text of their bytes
struct Fuse {             // all texts become one
  bool of_bytes = false;  // the texts need not be UTF-8
};
struct Replace {     // every occurrence, from the left
  std::string from;  // not empty
  std::string to;
};
struct ReplaceMatches {
  SplitPattern pattern;
  std::string to;
};
struct Strip {
  std::string character;
  size_t start = 0;  // most characters to remove
  size_t stop = 0;
};
struct Metaspace {  // marks become spaces; marks of the first text are removed
  std::string mark;
};
struct WordPiece {  // a space before each text but the first, unless it begins with the prefix
  std::string prefix;
};
struct WordEnds {  // suffixes become spaces; suffixes of the last text are removed
  std::string suffix;
};
struct Ctc {  // one of several equal adjacent texts stays; empty texts are removed
  std::vector<Replace> replaced;
};
}  // namespace decoding

using DecoderStep = std::variant<decoding::ByteFallback, decoding::Fuse, decoding::Replace,
                                 decoding::ReplaceMatches, decoding::Strip, decoding::Metaspace,
                                 decoding::WordPiece, decoding::WordEnds, decoding::Ctc>;

// A decoder and its input for each token. Immutable; any thread.
struct Decoding {
  std::vector<DecoderStep> steps;
  std::vector<std::string> pieces;  // by id: the first step's input for a token
  // Texts that the steps may change even across tokens. An empty text means any text.
  std::vector<std::string> changed;
};

// The byte that a text such as "<0x0A>" means. As in the library, digits may be lower-case.
std::optional<char> byte_of_piece(std::string_view text);

// Decodes one text. One thread.
class DecoderRun {
 public:
  // `first_in_text`: the first piece begins a text.
  DecoderRun(const std::vector<DecoderStep>& steps, bool first_in_text);
  ~DecoderRun();
  DecoderRun(DecoderRun&& other) noexcept;
  DecoderRun& operator=(DecoderRun&& other) noexcept;

  // Returns the text that no later piece can change, in whole characters.
  std::string push(std::string_view piece);
  // Returns the rest. `ends`: the text ends here. Otherwise the text goes on and more pieces may be
  // pushed, but they do not change the rest.
  std::string finish(bool ends);

  class Step;

 private:
  std::vector<std::unique_ptr<Step>> steps_;  // the last step first; it keeps the output
};

}  // namespace pando
