// The safetensors file format: eight bytes of header length, a JSON header, then the tensors'
// bytes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/mapped_file.h"
#include "base/model_path.h"
#include "pando/values/result.h"

namespace pando::model {

// "[2, 3]", for messages.
std::string shape_text(std::span<const int64_t> shape);

// Header entry of one tensor. Offsets were checked against the file.
struct TensorEntry {
  std::string dtype;           // as written in the file: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;  // outer to inner
  size_t offset = 0;           // of its first byte in the file
  size_t n_bytes = 0;
};

// One open file. Immutable; any thread may read. Opening checks the whole header: its length
// against the file, and every tensor's place and size; tensors must not overlap.
class Safetensors {
 public:
  static Result<Safetensors> open(const ModelPath& path);

  const std::filesystem::path& path() const { return file_->path(); }
  const std::map<std::string, TensorEntry, std::less<>>& tensors() const { return tensors_; }
  const MappedFile& file() const { return *file_; }

 private:
  Safetensors(std::shared_ptr<const MappedFile> file,
              std::map<std::string, TensorEntry, std::less<>> tensors)
      : file_(std::move(file)), tensors_(std::move(tensors)) {}

  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, TensorEntry, std::less<>> tensors_;
};

// Writes a file front to back: all names and shapes first, then the bytes in the same order.
// The file has its name only once `finish` has succeeded; before that it is <path>.partial, which
// goes with the writer.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    DType dtype = DType::kF32;  // f32, f16 or bf16
    std::vector<int64_t> shape;
  };

  static Result<SafetensorsWriter> create(const std::filesystem::path& path,
                                          std::span<const Tensor> tensors);

  SafetensorsWriter(SafetensorsWriter&&) = default;
  ~SafetensorsWriter();

  Status append(std::span<const std::byte> bytes);
  // kInvalidArgument where fewer or more bytes came than the shapes say.
  Status finish();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  SafetensorsWriter() = default;

  std::filesystem::path path_, partial_path_;
  std::unique_ptr<std::FILE, Closer> file_;
  uint64_t n_expected_ = 0, n_written_ = 0;
};

}  // namespace pando::model
