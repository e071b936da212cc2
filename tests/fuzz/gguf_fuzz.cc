// A GGUF file as all its readers see it: metadata, tensors, configuration, tokenizer, template.
#include "base/gguf.h"
#include "fuzz/fuzz.h"
#include "model/gguf_config.h"
#include "model/gguf_tensors.h"
#include "text/chat/chat_template.h"
#include "text/stream_decoder.h"

using namespace pando;

namespace {

void read_tokenizer(const std::filesystem::path& path) {
  const auto tokenizer = Tokenizer::load(path);
  if (!tokenizer) return fuzz::check_error(tokenizer.error());
  const auto tokens = (*tokenizer)->encode("A text, 12 words\n long.", true);
  if (tokens) (void)decode(**tokenizer, *tokens, false);
  const auto chat = ChatTemplate::load(path, **tokenizer);
  if (!chat) fuzz::check_error(chat.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::folder().write("t.gguf", fuzz::text_of(data, size));
  const Result<GgufFile> file = GgufFile::open(path);
  if (!file) {
    fuzz::check_error(file.error());
    return 0;
  }
  const auto config = model::read_gguf_config(*file);
  if (!config) fuzz::check_error(config.error());
  const auto tensors = model::GgufTensors::open(path);
  if (!tensors) fuzz::check_error(tensors.error());
  if (tensors) {
    for (const std::string& name : tensors->names()) {
      const model::TensorView view = tensors->tensor(name);
      const std::byte* begin = tensors->gguf().file().data();
      fuzz::demand(view.data >= begin && view.data < begin + size, "beyond the file");
    }
  }
  read_tokenizer(path);
  return 0;
}
