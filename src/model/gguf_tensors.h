// The tensors of a GGUF file under the names that they have in a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/gguf.h"
#include "base/model_path.h"
#include "model/tensor_view.h"
#include "pando/values/result.h"

namespace pando::model {

// Owns the file; immutable, any thread may read.
class GgufTensors {
 public:
  // Opens the file and checks that each tensor's type is known, that its bytes lie in the file and
  // that no two share bytes.
  static Result<GgufTensors> open(const ModelPath& path);

  bool contains(std::string_view name) const { return tensor_of_.contains(name); }
  // Sorted; a tensor without a name in checkpoints has its own.
  std::vector<std::string> names() const;
  // `name` must be contained. The shape is the file's.
  TensorView tensor(std::string_view name) const;

  const GgufFile& gguf() const { return *gguf_; }
  const std::filesystem::path& file_of(std::string_view name) const;  // must be contained

 private:
  explicit GgufTensors(std::shared_ptr<const GgufFile> gguf) : gguf_(std::move(gguf)) {}

  struct Entry {
    size_t index;  // into gguf_.tensors()
    RowOrder rows;
  };

  std::shared_ptr<const GgufFile> gguf_;
  std::map<std::string, Entry, std::less<>> tensor_of_;
};

}  // namespace pando::model
