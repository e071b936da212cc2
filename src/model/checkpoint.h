// The weights of a model directory: model.safetensors, or the shards that
// model.safetensors.index.json names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "model/safetensors.h"
#include "pando/result.h"

namespace pando::model {

// A tensor inside a mapped file: valid as long as its Checkpoint.
struct TensorView {
  DType dtype = DType::kF32;        // f32, f16 or bf16
  std::vector<int64_t> shape;       // outer to inner
  const std::byte* data = nullptr;  // row-major elements, aligned to their size
  size_t n_bytes = 0;
};

// Immutable once open; any thread may read.
class Checkpoint {
 public:
  // Opens and checks every file; reads no weights. kNotFound for a missing directory or shard,
  // kBadFile for contents that contradict themselves.
  static Result<Checkpoint> open(const std::filesystem::path& directory);

  bool contains(std::string_view name) const { return shard_of_.contains(name); }
  // The names of all tensors, sorted.
  std::vector<std::string> names() const;

  // kBadFile where there is no such tensor or its shape differs, kUnsupported for other dtypes; the
  // message names file, tensor, found and expected.
  Result<TensorView> tensor(std::string_view name, std::span<const int64_t> expected_shape) const;
  Result<TensorView> tensor(std::string_view name,
                            std::initializer_list<int64_t> expected_shape) const {
    return tensor(name, std::span(expected_shape.begin(), expected_shape.size()));
  }

  // The view's memory may go; it is read from the file again when touched.
  void release(const TensorView& view) const;

 private:
  Checkpoint() = default;
  Status open_shards(const std::filesystem::path& directory);

  std::filesystem::path index_path_;  // the index, or the only file
  std::vector<Safetensors> shards_;
  std::map<std::string, size_t, std::less<>> shard_of_;  // tensor name -> index into shards_
};

}  // namespace pando::model
