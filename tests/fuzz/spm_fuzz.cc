// A SentencePiece model, read here and by the library.
#include "fuzz/fuzz.h"
#include "text/spm.h"
#include "text/stream_decoder.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(fuzz::text_of(data, size));
  const auto tokenizer = SpmTokenizer::load(content, "tokenizer.model", {});
  if (!tokenizer) {
    fuzz::check_error(tokenizer.error());
    return 0;
  }
  const auto tokens =
      (*tokenizer)->encode("A text, isn't it?  12\n\xf0\x9f\xa6\x99 \xe2\x96\x81", true);
  if (!tokens) {
    fuzz::check_error(tokens.error());
    return 0;
  }
  for (const Token token : *tokens)
    fuzz::demand(token >= 0 && token < (*tokenizer)->vocab_size(), "a token of no vocabulary");
  fuzz::demand(!find_invalid_utf8(decode(**tokenizer, *tokens, false)), "a text that is not UTF-8");
  return 0;
}
