// Pre-tokenizers by their names in tokenizer.ggml.pre of a GGUF file.
#pragma once

#include "text/normalizer.h"
#include "text/pre_tokenizer.h"

namespace pando {

struct GgufWords {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  bool byte_level = true;        // else tokens are text, and bytes without one are <0xNN>
  bool marks_spaces = false;     // U+2581 stands for a space
  bool joins_line_ends = false;  // line ends in a row are one token where there is one
  bool ignore_merges = false;    // a word that is a token is not merged
  bool puts_bos = false;         // if the file does not say
  bool always_puts_bos = false;  // whatever the file says
  bool has_default_bos = true;   // if the file names none
  bool merges_may_lack = false;  // no list of merges: nothing is merged
};
// kUnsupported for a name that is not known; `file` is for messages.
Result<GgufWords> gguf_words(std::string_view name, const std::string& file);

// The names that are known, in order of the alphabet.
std::vector<std::string_view> gguf_word_names();

}  // namespace pando
