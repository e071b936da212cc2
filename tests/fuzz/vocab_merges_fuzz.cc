// vocab.json with merges.txt; the input is the two with a zero byte between.
#include "fuzz/fuzz.h"
#include "text/stream_decoder.h"
#include "text/vocab_merges.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [vocab, merges] = fuzz::pieces_of<2>(fuzz::text_of(data, size));
  const VocabMergesFiles files{fuzz::folder().write("vocab.json", vocab),
                               fuzz::folder().write("merges.txt", merges)};
  const auto tokenizer = WordTokenizer::make(read_vocab_merges(files, {}));
  if (!tokenizer) {
    fuzz::check_error(tokenizer.error());
    return 0;
  }
  const std::string text = "A text, isn't it? ab abc\n\xf0\x9f\xa6\x99";
  const auto tokens = (*tokenizer)->encode(text, false);
  fuzz::demand(tokens.ok() && decode(**tokenizer, *tokens, false) == text, "another text");
  return 0;
}
