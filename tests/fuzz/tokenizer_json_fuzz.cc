// tokenizer.json or tekken.json, and a text that it encodes.
#include "fuzz/fuzz.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::folder().write("tokenizer.json", fuzz::text_of(data, size));
  const auto tokenizer = Tokenizer::load(fuzz::folder().path());
  if (!tokenizer) {
    fuzz::check_error(tokenizer.error());
    return 0;
  }
  const auto tokens = (*tokenizer)
                          ->encode(
                              "A text, isn't it?  \xe2\x96\x81"
                              "12\n\xf0\x9f\xa6\x99 <s>a",
                              true);
  if (!tokens) {
    fuzz::check_error(tokens.error());
    return 0;
  }
  for (const Token token : *tokens)
    fuzz::demand(token >= 0 && token < (*tokenizer)->vocab_size(), "a token of no vocabulary");
  fuzz::demand(!find_invalid_utf8(decode(**tokenizer, *tokens, false)), "a text that is not UTF-8");
  return 0;
}
