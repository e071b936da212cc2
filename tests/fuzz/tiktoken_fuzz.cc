// Lines of base64 and rank. Whole vocabularies have 100,000 of them and are not made here.
#include "fuzz/fuzz.h"
#include "text/tiktoken.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(fuzz::text_of(data, size));
  (void)is_tiktoken(content);
  const auto parts = read_tiktoken(content, "tokenizer.model", {});
  fuzz::demand(!parts.ok(), "a vocabulary of few tokens is taken");
  fuzz::check_error(parts.error());
  return 0;
}
