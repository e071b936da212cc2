// A GGUF model in one to three files, with its weights.
#include <fmt/format.h>

#include "base/gguf.h"
#include "fuzz/weights.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::string_view> parts = fuzz::files_of(fuzz::text_of(data, size), 3);
  std::vector<std::filesystem::path> paths;
  for (size_t i = 0; i < parts.size(); ++i)
    paths.push_back(
        fuzz::folder().write(fmt::format("m-{:05}-of-{:05}.gguf", i + 1, parts.size()), parts[i]));
  const Result<GgufFile> file = GgufFile::open(paths[0]);
  if (!file) {
    fuzz::check_error(file.error());
    return 0;
  }
  for (const GgufTensor& tensor : file->tensors()) {
    fuzz::demand(tensor.file < parts.size(), "a tensor of no part");
    const MappedFile& part = file->file_of(tensor);
    fuzz::demand(part.path() == paths[tensor.file], "a tensor of another part");
    fuzz::demand(tensor.offset <= part.size() && tensor.available == part.size() - tensor.offset,
                 "beyond the file");
    fuzz::demand(file->find_tensor(tensor.name) == &tensor, "a tensor that is not found");
  }
  fuzz::load_weights(paths[0]);
  return 0;
}
