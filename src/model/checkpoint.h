// The weights of a model: a GGUF file, or a directory with model.safetensors or the shards that
// model.safetensors.index.json names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/model_path.h"
#include "model/gguf_tensors.h"
#include "model/quantization.h"
#include "model/quantized_matrix.h"
#include "model/safetensors.h"
#include "model/tensor_view.h"
#include "model/weight_specs.h"
#include "pando/values/result.h"

namespace pando::model {

// A path that is read as a GGUF file: a file, or one that should be there by the name *.gguf.
bool is_gguf(const std::filesystem::path& path);

// Immutable once open; any thread may read.
class Checkpoint {
 public:
  // Opens and checks every file; reads no weights. kNotFound for a missing directory or shard,
  // kBadFile for contents that contradict themselves. With `quantization` from the model's
  // configuration, the tensors of a quantised matrix M become one, "M.weight".
  static Result<Checkpoint> open(const ModelPath& path,
                                 const std::optional<Quantization>& quantization = {});

  const std::filesystem::path& path() const { return index_path_; }
  // The file leaves out the prefix "model." that names have here: a model saved without its head.
  bool is_bare() const { return bare_; }
  bool is_one_gguf() const { return gguf_.has_value(); }
  const GgufFile& gguf() const { return gguf_->gguf(); }  // only if it is one

  bool contains(std::string_view name) const {
    return gguf_ ? gguf_->contains(name) : place_of_.contains(name);
  }
  // The names of all tensors, sorted.
  std::vector<std::string> names() const;

  // kBadFile if there is no such tensor or its shape differs, kUnsupported for other dtypes and
  // quantised matrices; the message names file, tensor, found and expected.
  Result<TensorView> tensor(std::string_view name, std::span<const int64_t> expected_shape) const;
  Result<TensorView> tensor(std::string_view name,
                            std::initializer_list<int64_t> expected_shape) const {
    return tensor(name, std::span(expected_shape.begin(), expected_shape.size()));
  }

  // The tensors that this one is stored as, one above the other; almost always only itself.
  std::vector<WeightSpec> stored_as(const WeightSpec& spec) const;
  // Returns the same of one expert, for a spec of the tensors of all.
  std::vector<WeightSpec> stored_as(const WeightSpec& spec, int expert) const;
  // Returns the same with the order of rows and columns that the format has, also of quantised
  // matrices. The view has the shape of `spec`; sizes of 1 may be missing in a GGUF file, or be
  // more.
  Result<TensorView> tensor(const WeightSpec& spec) const;
  // True for a bias of zeros beside a quantised matrix. Some writers add one to models without
  // biases.
  bool is_empty_bias(std::string_view name) const;

  // [first, first + n_bytes) of the view's memory may go; it is read from the file again when
  // touched.
  void release(const TensorView& view, size_t first, size_t n_bytes) const;

 private:
  Checkpoint() = default;
  Status open_shards(const ModelPath& directory);
  Status open_shard(const ModelPath& path);
  Status add_unlisted(const Json& weight_map);
  void use_common_names();
  void join_quantized();
  void join_blocks();

  bool has_expert_parts(const WeightSpec& spec) const;
  std::vector<WeightSpec> parts_of(const WeightSpec& spec) const;
  Result<TensorView> slice(const WeightSpec& spec) const;
  Result<TensorView> safetensors_tensor(std::string_view name) const;
  Result<TensorView> quantized_tensor(const WeightSpec& spec) const;
  const std::filesystem::path& file_of(std::string_view name) const;

  struct Place {
    size_t shard;      // into shards_
    std::string name;  // in the file
  };
  StoredTensor stored_tensor(std::string_view name, const Place& place) const;

  std::filesystem::path index_path_;  // the index, or the only file
  std::optional<GgufTensors> gguf_;   // set for a GGUF file: there are no shards
  bool bare_ = false;
  std::vector<Safetensors> shards_;
  std::map<std::string, Place, std::less<>> place_of_;  // by the name here
  std::optional<Quantization> quantization_;
  std::map<std::string, StoredParts, std::less<>> quantized_;  // by the name here
};

}  // namespace pando::model
