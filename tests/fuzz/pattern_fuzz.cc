// A regular expression of a tokenizer; the input is the expression and a text with a zero byte
// between.
#include "fuzz/fuzz.h"
#include "text/split_pattern.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [expression, text] = fuzz::pieces_of<2>(fuzz::text_of(data, size));
  if (find_invalid_utf8(expression) || find_invalid_utf8(text)) return 0;
  const auto pattern = SplitPattern::compile_of_file(expression);
  if (!pattern) {
    fuzz::check_error(pattern.error());
    return 0;
  }
  std::string together;
  const Status done = pattern->split(text, [&](std::string_view piece, bool is_match) {
    fuzz::demand(is_match || !piece.empty(), "an empty piece between matches");
    together += piece;
  });
  if (!done)
    fuzz::check_error(done.error());
  else
    fuzz::demand(together == text, "something of the text is lost");
  return 0;
}
