// A model's weights in memory, packed for the kernels.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "contract/share.h"
#include "contract/tensor_source.h"
#include "exec/cpu/pack/layer_weights.h"

namespace pando::exec {

// Immutable once loaded; shared by any number of executors.
struct Weights {
  model::ModelSpec spec;                           // of the whole model
  ModelShare share = {};                           // the loaded part of the model
  std::unique_ptr<const model::Tensor> embedding;  // [vocab, d_model], where it lies in its file
  // Tables that are added to embeddings, where they lie, and the norm of the sums; null or empty if
  // the model has none.
  std::unique_ptr<const model::Tensor> position_table, type_table;
  std::vector<float> embedding_norm;
  std::vector<LayerWeights> layers;  // of the share, as spec_of_share has them
  std::vector<float> final_norm;
  kernel::PackedMatrix head;  // rows of logits_of_share; empty if there are none
  std::vector<float> head_bias;
  // Models whose layers have inputs of their own have the table, the share's rows of the
  // projection, and the norm.
  std::unique_ptr<const model::Tensor> layer_input_table;
  kernel::PackedMatrix layer_input_projection;
  std::vector<float> layer_input_norm;

  // Matrices keep the type they are stored in, or the one it is packed as; or all become
  // `requantised`, a type that can be made. Any table in `kernels` packs alike. Reads no part of
  // the model outside `share`. The source outlives it.
  static Result<Weights> load(const model::ModelSpec& spec, const model::TensorSource& source,
                              std::optional<DType> requantised, const kernel::Kernels& kernels,
                              ThreadPool& pool, const ModelShare& share = {});
  size_t bytes() const;  // of the packed matrices
};

// Bytes of the packed matrices that `load` would make; about, for what cannot be read.
uint64_t bytes_needed(const model::ModelSpec& spec, const model::TensorSource& source,
                      std::optional<DType> requantised);

}  // namespace pando::exec
