// The decoder of a tokenizer.json where one token may change the text of another: its steps, run
// over the tokens of a text one by one.
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
struct ByteFallback {};   // side by side, texts such as "<0x0A>" become one text: their bytes
struct Fuse {             // all become one text
  bool of_bytes = false;  // they need not be UTF-8
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
  size_t start = 0;  // taken off at most
  size_t stop = 0;
};
struct Metaspace {  // marks become spaces; those of the first text go
  std::string mark;
};
struct WordPiece {  // a space before each text but the first, unless it begins with the prefix
  std::string prefix;
};
struct WordEnds {  // suffixes become spaces; those of the last text go
  std::string suffix;
};
struct Ctc {  // of equal texts side by side one stays; empty ones go
  std::vector<Replace> replaced;
};
}  // namespace decoding

using DecoderStep = std::variant<decoding::ByteFallback, decoding::Fuse, decoding::Replace,
                                 decoding::ReplaceMatches, decoding::Strip, decoding::Metaspace,
                                 decoding::WordPiece, decoding::WordEnds, decoding::Ctc>;

// A decoder and what it reads. Immutable; any thread.
struct Decoding {
  std::vector<DecoderStep> steps;
  std::vector<std::string> pieces;  // by id: what the steps read of a token
  // Texts that the steps may change although they stand in more than one token. An empty one stands
  // for any.
  std::vector<std::string> changed;
};

// The byte that a text such as "<0x0A>" stands for, as the library reads it: its digits may be
// small letters.
std::optional<char> byte_of_piece(std::string_view text);

// Decodes one text. One thread.
class DecoderRun {
 public:
  // `first_in_text`: the first piece begins a text.
  DecoderRun(const std::vector<DecoderStep>& steps, bool first_in_text);
  ~DecoderRun();
  DecoderRun(DecoderRun&& other) noexcept;
  DecoderRun& operator=(DecoderRun&& other) noexcept;

  // Returns the text that no later piece can change: whole characters.
  std::string push(std::string_view piece);
  // Returns the rest. `ends`: the text ends here. Else it goes on, but later pieces leave the rest
  // as it is; another piece may be pushed.
  std::string finish(bool ends);

  class Step;

 private:
  std::vector<std::unique_ptr<Step>> steps_;  // the last one first; it keeps what was written
};

}  // namespace pando
