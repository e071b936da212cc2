// GGUF files, versions 2 and 3, one or several per model: typed metadata and the places of the
// tensors. The meaning of a tensor's bytes is not known here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"

namespace pando {

// The types of metadata values, numbered as in the file.
enum class GgufType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

struct GgufTensor {
  std::string_view name;
  std::vector<int64_t> shape;  // outer to inner (the file lists the inner one first), each from 1;
                               // their product fits an int64_t
  uint32_t type;               // of ggml, any number
  uint32_t file;               // part of the model that holds it, from 0
  uint64_t place;              // bytes from the start of that file's data, a multiple of
  uint64_t alignment;          // the file's alignment, in bytes
  uint64_t offset;             // bytes from the start of the file
  uint64_t available;          // bytes from there to the end of the file; to be compared with the
                               // size by type and shape
};

// Owns the mapping, into which all views point. Immutable; any thread.
class GgufFile {
 public:
  // Reads header, metadata and tensor places; every count and length is checked against the file's
  // size. The first part of a model in several files (gguf_split.h) stands for all of them. Errors
  // say what was found where, and what was expected.
  static Result<GgufFile> open(const std::filesystem::path& path);

  const MappedFile& file() const { return file_; }  // with the metadata
  const MappedFile& file_of(const GgufTensor& tensor) const {
    return tensor.file == 0 ? file_ : parts_[tensor.file - 1];
  }
  // Calls `use` with every file of the model.
  template <class Use>
  void for_each_file(const Use& use) const {
    use(file_);
    for (const MappedFile& part : parts_) use(part);
  }
  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }                 // bytes
  std::span<const GgufTensor> tensors() const { return tensors_; }  // in the file's order
  const GgufTensor* find_tensor(std::string_view name) const;       // or null

  // The value of a key; nothing if the key is absent, kBadFile if it has another type.
  // Integers of every width are one kind, and so are floats. An array of true and false is one of
  // ones and zeros.
  Result<std::optional<int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> real(std::string_view key) const;
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string_view>> string(std::string_view key) const;
  Result<std::optional<std::vector<int64_t>>> integers(std::string_view key) const;
  Result<std::optional<std::vector<float>>> reals(std::string_view key) const;
  Result<std::optional<std::vector<std::string_view>>> strings(std::string_view key) const;

  // An integer that names a token; 0xFFFFFFFF, which is -1 in 32 bits, says that there is none.
  Result<std::optional<int64_t>> token_id(std::string_view key) const;

  bool has(std::string_view key) const { return values_.contains(key); }
  std::vector<std::string_view> keys(std::string_view prefix) const;  // sorted
  // "FILE: 'KEY' is FOUND, expected EXPECTED", for values that are of the right type and wrong.
  Error wrong(std::string_view key, std::string_view expected) const;

 private:
  struct Value {
    GgufType type;
    GgufType element;  // of an array
    uint64_t n;        // elements; 1 for a value that is no array
    uint64_t offset;   // of the first element
  };
  friend class GgufParser;

  explicit GgufFile(MappedFile file) : file_(std::move(file)) {}
  static Result<GgufFile> open_one(const std::filesystem::path& path);
  Status add_parts();                 // of a model in several files
  Status add_tensors(GgufFile part);  // and keeps its mapping
  const Value* find(std::string_view key) const;
  int64_t integer_at(GgufType type, uint64_t offset) const;
  double real_at(GgufType type, uint64_t offset) const;
  std::string_view string_at(uint64_t offset) const;

  MappedFile file_;
  std::vector<MappedFile> parts_;  // the second and later ones
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  std::unordered_map<std::string_view, Value> values_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t> tensor_index_;
};

}  // namespace pando
