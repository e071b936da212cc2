// Files beside a tokenizer: tokenizer_config.json, generation_config.json, special tokens and the
// choice of a chat template. The input is the two files with a zero byte between.
#include "fuzz/fuzz.h"
#include "pando/generation_config.h"
#include "text/byte_tokenizer.h"
#include "text/chat/chat_template.h"
#include "text/stream_decoder.h"

using namespace pando;

static void write_or_remove(const char* name, std::string_view text) {
  const auto path = fuzz::folder().write(name, text);
  if (text.empty()) std::filesystem::remove(path);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool there = write_byte_tokenizer(fuzz::folder().path()).ok();
  fuzz::demand(there, "no tokenizer");
  const auto [tokenizer_config, generation_config] = fuzz::pieces_of<2>(fuzz::text_of(data, size));
  write_or_remove("tokenizer_config.json", tokenizer_config);
  write_or_remove("generation_config.json", generation_config);
  const auto defaults = read_generation_config(fuzz::folder().path());
  if (!defaults) fuzz::check_error(defaults.error());
  const auto tokenizer = Tokenizer::load(fuzz::folder().path());
  if (!tokenizer) {
    fuzz::check_error(tokenizer.error());
    return 0;
  }
  const auto tokens = (*tokenizer)->encode("<s> A text.", true);
  fuzz::demand(tokens.ok(), "a text is refused");
  (void)decode(**tokenizer, *tokens, true);
  const auto chat = ChatTemplate::load(fuzz::folder().path(), **tokenizer);
  if (!chat) fuzz::check_error(chat.error());
  return 0;
}
