// Models with random weights: real shapes for benchmarks, tiny ones for tests and demonstrations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "model/config.h"
#include "pando/values/result.h"

namespace pando::model {

struct WeightSpec;

struct MakeModelOptions {
  std::string shape = "tiny-qwen3";  // one of `shape_names`
  std::filesystem::path out = {};    // directory to write; made where it is not there
  DType dtype = DType::kBF16;        // f32, f16 or bf16
  uint64_t seed = 0;
  std::optional<int> n_layers = {};  // these replace the shape's own
  std::optional<int> vocab = {};     // special tokens outside of it are left out of config.json
  std::optional<int> max_positions = {};
  std::optional<int> eos_id;  // ends a sequence, instead of the shape's own tokens
  int n_threads = 1;
};

// "qwen3-0.6b", "llama-3-8b", ..., "tiny-llama".
std::vector<std::string_view> shape_names();
// The published sizes; kInvalidArgument lists the names.
Result<ModelConfig> named_shape(std::string_view name);

// Writes out/model.safetensors and out/config.json in a few MB of memory. The same options give the
// same bytes on every machine, and a weight depends on seed, name, row and column only: fewer
// layers or a smaller vocabulary cut the same model short.
Status make_model(const MakeModelOptions& options);

// Elements [first, first + out.size()) of a row-major weight as a checkpoint stores it, in f32:
// matrices near a normal distribution with standard deviation 1 / sqrt(columns), half of it for the
// embedding; norms 1 and biases 0, with a deviation of 0.1. A state keeps about 0.9 from a token to
// the next.
void random_weights(uint64_t seed, const WeightSpec& spec, int64_t first, std::span<float> out);

}  // namespace pando::model
