#include <xxhash.h>

#include <algorithm>

#include "base/errors.h"
#include "base/gguf_split.h"
#include "base/mapped_file.h"
#include "base/mix.h"
#include "pando/model_files.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWhole = size_t{64} << 20, kPieces = 256, kPiece = 4096;

uint64_t hash_of(const char* data, size_t n) {
  if (n <= kWhole) return XXH3_64bits(data, n);
  uint64_t hash = n;
  for (size_t i = 0; i < kPieces; ++i)
    hash = XXH3_64bits_withSeed(data + (n - kPiece) / (kPieces - 1) * i, kPiece, hash);
  return hash;
}

// What a model is read from: not its readme, nor what else is kept beside it.
bool is_read(const fs::path& path) {
  const std::string extension = path.extension().string();
  for (const char* read :
       {".json", ".safetensors", ".gguf", ".model", ".tiktoken", ".txt", ".jinja"})
    if (extension == read) return true;
  return false;
}

}  // namespace

Result<uint64_t> model_fingerprint(const fs::path& path) {
  std::error_code failure;
  std::vector<fs::path> files;
  if (fs::is_directory(path, failure)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failure))
      if (entry.is_regular_file(failure) && is_read(entry.path())) files.push_back(entry.path());
    if (failure) return io_error("{}: cannot be read: {}", path.string(), failure.message());
  } else {
    files = gguf_parts(path);
  }
  std::ranges::sort(files);
  uint64_t hash = 0;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    hash = XXH3_64bits_withSeed(name.data(), name.size(), hash);
    if (fs::is_regular_file(file, failure) && fs::file_size(file, failure) == 0) continue;
    const Result<MappedFile> mapped = MappedFile::open(file);
    if (!mapped) return mapped.error();
    hash = mix64(hash ^ hash_of(reinterpret_cast<const char*>(mapped->data()), mapped->size()));
  }
  return hash;
}

}  // namespace pando
