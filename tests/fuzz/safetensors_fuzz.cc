// Every byte that a header claims must be in the file.
#include "fuzz/fuzz.h"
#include "model/safetensors.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::folder().write("t.safetensors", fuzz::text_of(data, size));
  const Result<model::Safetensors> file = model::Safetensors::open(path);
  if (!file) {
    fuzz::check_error(file.error());
    return 0;
  }
  size_t n_bytes = 0;
  for (const auto& [name, entry] : file->tensors()) {
    fuzz::demand(entry.offset <= size && entry.n_bytes <= size - entry.offset, "beyond the file");
    n_bytes += entry.n_bytes;
  }
  fuzz::demand(n_bytes <= size, "tensors share bytes");
  return 0;
}
