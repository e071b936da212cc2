// Checkpoints of quantised weights for tests: the fixtures of model/data/quantized, changed, and as
// plain models of the same values.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/half.h"
#include "base/numbers/blocks.h"
#include "model/checkpoint.h"
#include "model/safetensors.h"
#include "model/tensor_rows.h"
#include "model/test_files.h"

namespace pando::model {

inline std::filesystem::path quantized_fixture(const std::string& name) {
  return std::filesystem::path(PANDO_SOURCE_DIR) / "tests/model/data/quantized" / name;
}

// A matrix as f32, row by row.
inline std::vector<float> values_of(const TensorView& view) {
  const int64_t n = view.shape[0], k = view.shape[1];
  std::vector<float> values(static_cast<size_t>(n * k));
  TensorRows rows(view);
  for (int64_t row = 0; row < n; ++row) read_weights(view.dtype, rows[row], k, &values[row * k]);
  return values;
}

// Elements of f32, f16 or bf16 as a file has them.
inline std::string bytes_of_values(const std::vector<float>& values, DType type) {
  std::string bytes(values.size() * dtype_size(type), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = type == DType::kF16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
    if (type == DType::kF32)
      std::memcpy(&bytes[4 * i], &values[i], 4);
    else
      std::memcpy(&bytes[2 * i], &half, 2);
  }
  return bytes;
}

// A checkpoint that can be changed before it is written.
struct EditedCheckpoint {
  struct Tensor {
    std::string dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };

  explicit EditedCheckpoint(const std::filesystem::path& directory)
      : config(nlohmann::json::parse(std::ifstream(directory / "config.json"))) {
    const Safetensors file = Safetensors::open(directory / "model.safetensors").value();
    for (const auto& [name, entry] : file.tensors())
      tensors[name] = {
          entry.dtype,
          entry.shape,
          {reinterpret_cast<const char*>(file.file().data()) + entry.offset, entry.n_bytes}};
  }

  nlohmann::json& quantization() { return config["quantization_config"]; }
  // A tensor of the first layer.
  Tensor& part(const std::string& name) { return tensors["model.layers.0." + name]; }
  void erase(const std::string& name) { tensors.erase("model.layers.0." + name); }

  std::filesystem::path write(const TemporaryFolder& folder) const {
    nlohmann::json header = nlohmann::json::object();
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      header[name] = {{"dtype", tensor.dtype},
                      {"shape", tensor.shape},
                      {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
      data += tensor.bytes;
    }
    folder.write("model.safetensors", safetensors_bytes(header.dump(), data));
    folder.write("config.json", config.dump());
    return folder.path();
  }

  nlohmann::json config;
  std::map<std::string, Tensor> tensors;
};

// The model of the fixture with its matrices as elements of `type`.
inline std::filesystem::path write_plain(const std::string& fixture, DType type,
                                         const TemporaryFolder& folder) {
  const std::filesystem::path directory = quantized_fixture(fixture);
  EditedCheckpoint plain(directory);
  const ModelConfig config = ModelConfig::load(directory).value();
  const Checkpoint checkpoint = Checkpoint::open(directory, config.quantization).value();
  plain.config.erase("quantization_config");
  plain.tensors.clear();
  for (const WeightSpec& spec : weight_specs(config)) {
    const TensorView view = checkpoint.tensor(spec).value();
    std::vector<float> values(static_cast<size_t>(spec.n_elements()));
    if (spec.shape.size() == 2)
      values = values_of(view);
    else
      read_weights(view.dtype, view.data, std::ssize(values), values.data());
    plain.tensors[spec.name] = {std::string(info_of(type).safetensors), spec.shape,
                                bytes_of_values(values, type)};
  }
  return plain.write(folder);
}

}  // namespace pando::model
