// Loads the layers of a model, or what one rank has of them.
#pragma once

#include <vector>

#include "contract/model_spec.h"
#include "exec/cpu/pack/tensor_loader.h"
#include "exec/share.h"

namespace pando::exec {

// Loads the weights of layers. Any thread may call. Its arguments outlive it.
class LayerLoader {
 public:
  // spec: of the whole model.
  LayerLoader(const model::ModelSpec& spec, const ModelShare& share, const TensorLoader& tensors)
      : spec_(spec), share_(share), tensors_(tensors) {}

  // index: that of the layer in the model.
  Status load(int index, LayerWeights& layer) const;

 private:
  Status load_latent(int index, LatentUp& up) const;
  template <class T>
  Status load_experts(model::Role role, int index, T ExpertWeights::*member,
                      LayerWeights& layer) const;
  // Puts the part of a weight that the share has into `out`.
  Status fill(const TensorLoader& tensors, const model::WeightId& id,
              std::vector<float>& out) const;
  Status fill(const TensorLoader& tensors, const model::WeightId& id, Stack& out) const;
  Status fill(const TensorLoader& tensors, const model::WeightId& id,
              kernel::PackedMatrix& out) const;

  const model::ModelSpec& spec_;
  const ModelShare& share_;
  const TensorLoader& tensors_;
};

}  // namespace pando::exec
