// Models with random weights: real shapes for measuring, tiny ones for tests and demonstrations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Options of make_random_model.
struct RandomModelOptions {
  std::string shape = "tiny-qwen3";  // one of random_model_shapes()
  std::filesystem::path out;         // directory to write; made where it is not there
  std::string dtype = "bf16";        // of the weights: f32, f16 or bf16
  uint64_t seed = 0;                 // of the weights
  std::optional<int> n_layers;       // this and the next two replace the shape's own
  std::optional<int> vocab;          // tokens
  std::optional<int> max_positions;  // longest sequence, in tokens
  std::filesystem::path tokenizer;   // directory whose tokenizer files are copied; empty: one token
                                     // for each byte
};

// Names of shapes, as "tiny-qwen3".
std::vector<std::string> random_model_shapes();

// Writes config.json, model.safetensors and a tokenizer. Equal options give equal weights on every
// machine. Errors: kInvalidArgument, kNotFound (tokenizer), kIo.
Status make_random_model(const RandomModelOptions& options);

}  // namespace pando
