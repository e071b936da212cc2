// What a name in tokenizer.ggml.pre of a GGUF file stands for.
#pragma once

#include "text/normalizer.h"
#include "text/pre_tokenizer.h"

namespace pando {

struct GgufWords {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  bool ignore_merges = false;
  bool puts_bos = false;  // where the file does not say
};
// kUnsupported for a name that is not known; `file` is for messages.
Result<GgufWords> gguf_words(std::string_view name, const std::string& file);

}  // namespace pando
