// The shape of a model, read from a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/json_fwd.h"
#include "base/model_path.h"
#include "contract/model_spec.h"
#include "model/quantization.h"
#include "pando/values/result.h"

namespace pando::model {

struct Family;

// Origin of a configuration. It does not affect the model, so all values compare equal.
struct ConfigOrigin {
  bool has_text_part = false;  // of a file that describes parts for images or sounds too
  bool is_gguf = false;        // a GGUF file, which fixes the order of rows and columns
  bool operator==(const ConfigOrigin&) const { return true; }
};

// A ModelSpec as configuration files say it, with what only the reading of files needs.
struct ModelConfig : ModelSpec {
  const Family* family = nullptr;                 // never null in a configuration that was read or
                                                  // made
  std::optional<Quantization> quantization = {};  // of a checkpoint's matrices
  ConfigOrigin origin = {};

  // A configuration with the fields that the family fixes, and no others.
  static ModelConfig of_family(const Family& family);

  int64_t n_parameters() const;

  bool operator==(const ModelConfig&) const = default;

  // Reads config.json of a directory, or the metadata of a GGUF file.
  static Result<ModelConfig> load(const ModelPath& directory);
  // `source` names the text in error messages.
  static Result<ModelConfig> parse(std::string_view json, std::string_view source);
  // Does the same for an object that is not text.
  static Result<ModelConfig> from_json(const Json& object, std::string_view source,
                                       ConfigOrigin origin = {});
  // The error names `source`, field, found and expected.
  Status validate(std::string_view source) const;
  // A config.json that `parse` and the transformers library read; weights are of type `dtype`.
  std::string to_json(DType dtype) const;

 private:
  Status validate_layers(std::string_view source) const;
  Status validate_latent(std::string_view source) const;
  Status validate_states(std::string_view source) const;
  Status validate_experts(std::string_view source) const;
};

}  // namespace pando::model
