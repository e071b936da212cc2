// Steps that a model's files put behind its hidden states: modules of sentence-transformers, and
// the heads of classifiers. All sums are f32 in the order of the inputs, so the bits of a vector
// depend on nothing else.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/model_path.h"
#include "model/checkpoint.h"
#include "pando/values/result.h"

namespace pando::model {

enum class VectorActivation {
  kIdentity,
  kTanh,
  kRelu,
  kGelu,      // by erf
  kGeluTanh,  // by tanh
  kSilu,
  kSigmoid,
};

struct VectorStep {
  enum class Kind {
    kDense,      // activation(bias + weight x)
    kLayerNorm,  // (x - mean) / sqrt(variance + epsilon) * weight + bias
    kNormalise,  // x / |x|; a vector of zeros stays one
  };
  Kind kind = Kind::kNormalise;
  int n_in = 0, n_out = 0;         // 0: any
  std::vector<float> weight = {};  // kDense: [n_in, n_out]; kLayerNorm: [n_out]
  std::vector<float> bias = {};    // [n_out], or empty
  VectorActivation activation = VectorActivation::kIdentity;
  float epsilon = 1e-5F;
};

struct VectorSteps {
  std::vector<VectorStep> list;
  // Length of the result for inputs of n values.
  int length_of(int n) const;
  std::vector<float> apply(std::span<const float> input) const;
};

// Activation by its name in the transformers library ("gelu") or its class in torch
// ("torch.nn.modules.activation.Tanh"). kUnsupported.
Result<VectorActivation> activation_named(std::string_view name);

// A step from tensors of a checkpoint. Errors: as Checkpoint::tensor.
struct StepTensors {
  std::string_view weight;
  std::string_view bias;  // empty: the step has none
};
Result<VectorStep> read_dense(const Checkpoint& checkpoint, const StepTensors& names, int n_in,
                              int n_out, VectorActivation activation);
// Reads the same from a file of torch.save that has the matrix and then the bias, of n_out values,
// and nothing else. Errors: as read_torch_storages; kBadFile for other sizes.
Result<VectorStep> read_torch_dense(const ModelPath& path, VectorActivation activation);
Result<VectorStep> read_layer_norm(const Checkpoint& checkpoint, const StepTensors& names, int n,
                                   float epsilon);

// The modules Dense, LayerNorm and Normalize of sentence-transformers, from their folders. `kind`:
// one of these names; `n_in`: length of the vectors before it, 0: not known.
// kUnsupported for other fields. Weights of Dense may lie in pytorch_model.bin, with a bias.
Result<VectorStep> read_vector_module(std::string_view kind, const ModelPath& folder, int n_in);

}  // namespace pando::model
