// A model's weights in memory, packed for the kernels.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/layer_weights.h"
#include "model/share.h"
#include "model/weight_specs.h"

namespace pando::model {

// Immutable once loaded; shared by any number of engines.
struct Weights {
  ModelConfig config;                // of the whole model
  Checkpoint checkpoint;             // keeps the embedding mapped
  TensorView embedding;              // [vocab, d_model] as stored
  std::vector<LayerWeights> layers;  // of the share, as config_of_share has them
  std::vector<float> final_norm;     // [d_model]; with a bias, which stands behind, [2 d_model]
  kernel::PackedMatrix head;         // [vocab, d_model]; empty where the share has none
  std::vector<float> head_bias;      // [vocab], or empty
  // Of models whose layers have inputs of their own (weight_specs.h, layer_input_specs): the table
  // as stored, the share's rows of the projection, and the norm.
  TensorView layer_input_table = {};
  kernel::PackedMatrix layer_input_projection = {};
  std::vector<float> layer_input_norm = {};
  Share share = {};          // what of the model is here
  bool has_no_head = false;  // saved without one; `head` stands in and means nothing
  // Parts of the files that answer no text and are not read: "vision tower (12 tensors)".
  std::vector<std::string> passed_over = {};

  // Configuration and files, checked, with no weights read.
  static Result<Weights> open(const std::filesystem::path& directory);
  // From a model directory or a GGUF file. Matrices keep the type they are stored in, or the one it
  // is packed as (kernel/weight_types.h, QuantizedMatrix::kept); or all become `requantised`, a
  // type that can be made. Any table in `kernels` packs alike. Reads no part of the model outside
  // `share`.
  static Result<Weights> load(const std::filesystem::path& directory,
                              std::optional<DType> requantised, const kernel::Kernels& kernels,
                              ThreadPool& pool, const Share& share = {});
  size_t bytes() const;  // of the packed matrices
};

}  // namespace pando::model
