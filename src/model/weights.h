// A model's weights in memory, packed for the kernels.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernel/linear.h"
#include "model/checkpoint.h"
#include "model/config.h"

namespace pando::model {

// Matrices with the same inputs, their outputs one behind the other. Neighbours of one type are one
// matrix.
using Stack = std::vector<kernel::PackedMatrix>;

struct LayerWeights {
  std::vector<float> attention_norm;     // [d_model] before attention, or behind it
  std::vector<float> q_norm, k_norm;     // [head_dim] or of all heads, empty without q/k norms
  Stack qkv;                             // [(n_heads + 2 n_kv_heads) * head_dim, d_model]
  std::vector<float> qkv_bias;           // [(n_heads + 2 n_kv_heads) * head_dim], or empty
  kernel::PackedMatrix o;                // [d_model, n_heads * head_dim]
  std::vector<float> o_bias;             // [d_model], or empty
  std::vector<float> feed_forward_norm;  // [d_model] before feed-forward, or behind it
  Stack gate_up;                         // [2 d_ff, d_model]: gate, then up
  kernel::PackedMatrix down;             // [d_model, d_ff]
};

// Immutable once loaded; shared by any number of engines.
struct Weights {
  ModelConfig config;
  Checkpoint checkpoint;  // keeps the embedding mapped
  TensorView embedding;   // [vocab, d_model] as stored
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [d_model]
  kernel::PackedMatrix head;      // [vocab, d_model]
  bool all_rows = false;          // ModelOptions

  // Configuration and files, checked, with no weights read.
  static Result<Weights> open(const std::filesystem::path& directory);
  // From a model directory or a GGUF file. Matrices keep the type they are stored in, Q6_K becoming
  // q8_0; or all become `requantised`: q8_0, q4_0 or int8. Any table in `kernels` packs
  // alike.
  static Result<Weights> load(const std::filesystem::path& directory,
                              std::optional<DType> requantised, const kernel::Kernels& kernels,
                              ThreadPool& pool);
  size_t bytes() const;  // of the packed matrices
};

}  // namespace pando::model
