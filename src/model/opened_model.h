// A model's files, opened and checked, with no weights read.
#pragma once

#include <string>
#include <vector>

#include "base/model_path.h"
#include "contract/tensor_source.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/weight_specs.h"

namespace pando::model {

// A model opened from a directory or a GGUF file.
struct OpenedModel final : TensorSource {
  ModelConfig config;
  Checkpoint checkpoint;
  bool has_no_head = false;  // saved without one; the embedding stands in, and means nothing
  // Parts of the files that answer no text and are not read: "vision tower (12 tensors)".
  std::vector<std::string> passed_over = {};

  static Result<OpenedModel> open(const ModelPath& path);

  std::string file() const override { return checkpoint.path().string(); }
  std::vector<Role> roles(int layer) const override;
  Result<Tensors> tensors(const WeightId& id) const override;

 private:
  OpenedModel(ModelConfig config, Checkpoint checkpoint);

  std::vector<WeightSpec> specs_of(const WeightId& id) const;
  Status check_tied_head() const;
  std::string name_in_file(const WeightSpec& spec) const;
  Error in_file_name(Error error, const WeightSpec& spec) const;

  std::vector<std::vector<WeightSpec>> of_layers_;
};

}  // namespace pando::model
